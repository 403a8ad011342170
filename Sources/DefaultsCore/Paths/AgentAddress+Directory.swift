import Glibc
import Linux

/// The creation and checking of the socket's directory, one component at a time through open directories.
///
/// This way, no other user can insert a link, or a directory of their own, between a check and the next step.
extension AgentAddress {
    /// Creates the socket's directory, accessible only to the user, and checks that it is trustworthy.
    package func makeDirectory() throws(DefaultsError) {
        if let problem { throw problem }
        // A directory that the user named keeps its mode, since it may also hold files that others may see.
        _ = try openDirectory(makingIt: true, mode: isExplicit ? nil : 0o700)
    }

    /// Checks that only the user (or root) can have put a socket in the directory.
    package func checkDirectory() throws(DefaultsError) {
        _ = try openDirectory(makingIt: false, mode: nil)
    }

    /// The reason why no agent can serve clients at the address; `nil` if an agent can, even if the directory doesn't
    /// exist yet.
    package var obstacle: DefaultsError? {
        if let problem { return problem }
        do throws(DefaultsError) { try checkDirectory() } catch { return error.errno == ENOENT ? nil : error }
        return nil
    }

    /// Opens the directory.
    ///
    /// - Parameters:
    ///   - makesIt: Whether to create missing components.
    ///   - mode: The mode to set on components that belong to the user; `nil` to leave their modes unchanged.
    /// - Returns: The open directory.
    /// - Throws: `directory` if the directory is missing, can't be created, or is writable by others.
    private func openDirectory(makingIt makesIt: Bool, mode: mode_t?) throws(DefaultsError) -> FileDescriptor {
        var path = root ?? directoryPath
        var names = Path.names(of: String(Substring(directoryPath.utf8.dropFirst(path.utf8.count))))
        // Existing directories may be reached through links, since the user or the session manager chose the path.
        while makesIt, access(path, F_OK) != 0, path.count > 1 {
            names.insert(Path.lastName(of: path), at: 0)
            path = Path.directory(of: path)
        }
        var directory = try Self.open(path)
        if names.isEmpty { try Self.check(directory, at: path) }
        for name in names {
            path = path == "/" ? "/\(name)" : "\(path)/\(name)"
            if makesIt, mkdirat(directory.number, name, 0o700) != 0, errno != EEXIST {
                throw DefaultsError(.directory, errno: errno, "The agent's directory \(path) can't be created")
            }
            directory = try Self.open(name, in: directory, at: path)
            try Self.check(directory, at: path)
            if let mode { try Self.set(mode, of: directory, at: path) }
        }
        return directory
    }

    private static func open(_ path: String) throws(DefaultsError) -> FileDescriptor {
        do throws(SystemCall.Failure) {
            return try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
        } catch {
            throw DefaultsError(.directory, errno: error.number, "The agent's directory \(path) can't be opened")
        }
    }

    private static func open(
        _ name: String, in directory: borrowing FileDescriptor, at path: String
    ) throws(DefaultsError) -> FileDescriptor {
        do throws(SystemCall.Failure) {
            let number = directory.number
            return FileDescriptor(
                owning: try SystemCall.run {
                    openat(number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                })
        } catch {
            if error.number == ELOOP || error.number == ENOTDIR {
                throw DefaultsError(
                    .directory,
                    "The agent's directory \(path) is a link, or isn't a directory.",
                    remedy: "Remove it, or choose another socket with --socket or DEFAULTSD_SOCKET.",
                    errno: error.number)
            }
            throw DefaultsError(.directory, errno: error.number, "The agent's directory \(path) can't be opened")
        }
    }

    /// Checks that a directory is the user's (or root's), and that no other user may write to it.
    private static func check(_ directory: borrowing FileDescriptor, at path: String) throws(DefaultsError) {
        let status = try status(of: directory, at: path)
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw DefaultsError(
                .directory,
                "The agent's directory \(path) belongs to user ID \(status.st_uid), not to you.",
                remedy: "Choose another socket with --socket or DEFAULTSD_SOCKET.")
        }
        guard status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0 else {
            throw DefaultsError(
                .directory,
                "Other users may write to the agent's directory \(path).",
                remedy: "Run `chmod go-w \(path)`, or choose another socket.")
        }
    }

    private static func set(
        _ mode: mode_t, of directory: borrowing FileDescriptor, at path: String
    ) throws(DefaultsError) {
        let status = try status(of: directory, at: path)
        guard status.st_uid == geteuid(), status.st_mode & 0o7777 != mode else { return }
        if fchmod(directory.number, mode) != 0 {
            throw DefaultsError(.directory, errno: errno, "The mode of the agent's directory \(path) can't be set")
        }
    }

    private static func status(
        of directory: borrowing FileDescriptor, at path: String
    ) throws(DefaultsError) -> stat {
        do throws(SystemCall.Failure) { return try directory.status() } catch {
            throw DefaultsError(.directory, errno: error.number, "The agent's directory \(path) can't be examined")
        }
    }
}
