import Glibc
import Linux

/// Whether root alone can have written what is at a path: what is forced on users must come from their administrator.
///
/// An access control list that lets someone else write shows in the group's bit, which then is the list's mask.
enum RootOwnership {
    /// Checks a file that is open, and the directories that it is in.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - status: what the system says of the file that was opened there, and not of what the path leads to by now.
    ///   - directory: the topmost directory that is checked, and each between it and the file.
    /// - Returns: what is wrong, with the remedy; `nil` when nothing is.
    static func problem(ofFileAt path: String, _ status: stat, below directory: String) -> DefaultsError? {
        if let problem = problem(of: path, path, status) { return problem }
        var place = Path.directory(of: path)
        while place.utf8.count >= directory.utf8.count {
            var status = stat()
            guard stat(place, &status) == 0 else {
                return DefaultsError(
                    .untrusted, errno: errno, "\(path) is not honoured, since \(place) can't be looked at")
            }
            if let problem = problem(of: place, path, status) { return problem }
            if place.utf8.count <= 1 { break }
            place = Path.directory(of: place)
        }
        return nil
    }

    private static func problem(of place: String, _ path: String, _ status: stat) -> DefaultsError? {
        let what = place == path ? "it" : "its directory \(place)"
        if status.st_uid != 0 {
            return DefaultsError(
                .untrusted,
                "\(path) is not honoured, since \(what) belongs to the user with the number \(status.st_uid) and not to "
                    + "root; `chown root \(place)`.")
        }
        if status.st_mode & 0o022 != 0 {
            return DefaultsError(
                .untrusted,
                "\(path) is not honoured, since others than root may write to \(what); `chmod go-w \(place)`.")
        }
        return nil
    }
}
