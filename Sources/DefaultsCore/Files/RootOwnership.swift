import Glibc
package import Linux

/// A check that only root can have written a file, since values that are forced on users must come from an
/// administrator.
///
/// An access control list that lets others write shows in the group's mode bits, which are then the list's mask.
package enum RootOwnership {
    /// Checks an open file, and the directories that contain it.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - status: The status of the open file; the path may already lead to another file.
    ///   - directory: The topmost directory to check; the directories between it and the file are checked as well.
    ///   - consequence: The predicate that says what happens to the file.
    /// - Returns: The error, with its remedy, if others may have written the file; `nil` otherwise.
    package static func problem(
        ofFileAt path: String, with status: FileStatus, below directory: String, consequence: String = "is ignored"
    ) -> DefaultsError? {
        if let problem = problem(of: path, for: path, consequence, with: status) { return problem }
        var current = Path.directory(of: path)
        while current.utf8.count >= directory.utf8.count {
            let status: FileStatus
            do throws(SystemCall.Failure) {
                status = try FileStatus(at: current)
            } catch {
                return DefaultsError(
                    .untrusted, errno: error.number, "\(path) \(consequence), because \(current) can't be examined")
            }
            if let problem = problem(of: current, for: path, consequence, with: status) { return problem }
            if current.utf8.count <= 1 { break }
            current = Path.directory(of: current)
        }
        return nil
    }

    private static func problem(
        of current: String, for path: String, _ consequence: String, with status: FileStatus
    ) -> DefaultsError? {
        let what = current == path ? "it" : "its directory \(current)"
        if status.st_uid != 0 {
            return DefaultsError(
                .untrusted,
                "\(path) \(consequence), because \(what) belongs to user ID \(status.st_uid), not to root.",
                remedy: "Run `chown root \(current)`.")
        }
        if status.st_mode & 0o022 != 0 {
            return DefaultsError(
                .untrusted,
                "\(path) \(consequence), because users other than root may write to \(what).",
                remedy: "Run `chmod go-w \(current)`.")
        }
        return nil
    }
}
