import Glibc
import Linux

/// Where the agent of a preferences directory listens, and keeps its change log.
package struct AgentAddress: Hashable, Sendable {
    /// The socket's path.
    package let socketPath: String
    /// Whether someone named it; then no answer there is an error, not a reason to do without an agent.
    package let isExplicit: Bool

    /// Finds the address: the option, `DEFAULTSD_SOCKET`, or `$XDG_RUNTIME_DIR/defaultsd/socket`.
    ///
    /// A directory that was named has an agent of its own, in a directory below that is named after it.
    package init(
        option: String? = nil, for directory: PreferencesDirectory, environment: Environment
    ) throws(DefaultsError) {
        let path: String
        if let given = option ?? environment["DEFAULTSD_SOCKET"] {
            path = given.hasPrefix("/") ? given : PreferencesDirectory.workingDirectory() + "/" + given
            isExplicit = true
        } else {
            let runtime = Self.runtimeDirectory(environment) + "/defaultsd"
            path =
                directory.isExplicit
                ? "\(runtime)/\(directory.resolvedPathHash)/socket" : "\(runtime)/socket"
            isExplicit = false
        }
        // The kernel takes 107 bytes; SwiftNIO takes 103, as other systems do.
        guard path.utf8.count <= 103 else {
            throw DefaultsError(
                .directory,
                "The socket's path has \(path.utf8.count) bytes, and a socket's has at most 103: \(path). "
                    + "Name a shorter one with --socket or DEFAULTSD_SOCKET.")
        }
        socketPath = path
    }

    /// The directory that holds the socket and the log.
    package var directoryPath: String { Path.directory(of: socketPath) }

    /// The file of a directory's change log, beside the socket.
    ///
    /// It bears the directory's name: an agent that serves another directory at the same socket must not take up its edits.
    package func logPath(for directory: PreferencesDirectory) -> String {
        "\(socketPath).\(directory.resolvedPathHash).log"
    }

    /// `$XDG_RUNTIME_DIR`, `/run/user/<uid>` where that is, or a directory of the user's own in `/tmp`.
    private static func runtimeDirectory(_ environment: Environment) -> String {
        if let given = environment["XDG_RUNTIME_DIR"], given.hasPrefix("/") { return given }
        let usual = "/run/user/\(getuid())"
        return access(usual, W_OK) == 0 ? usual : "/tmp/defaultsd-\(getuid())"
    }

    /// Makes the directory that holds the socket, for the user alone, and checks that it is theirs.
    package func makeDirectory() throws(DefaultsError) {
        var missing: [String] = []
        var path = directoryPath
        while access(path, F_OK) != 0, path.count > 1 {
            missing.append(path)
            path = Path.directory(of: path)
            if path.isEmpty { break }
        }
        for path in missing.reversed() where mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw DefaultsError(.directory, errno: errno, "The agent's directory \(path) can't be made")
        }
        try checkOwner()
        // One that the user named may hold other things, that others are to see.
        if !isExplicit { chmod(directoryPath, 0o700) }
    }

    /// Checks that nobody but the user (or root) can have put a socket in the directory.
    package func checkOwner() throws(DefaultsError) {
        var status = stat()
        guard stat(directoryPath, &status) == 0 else {
            throw DefaultsError(.directory, errno: errno, "The agent's directory \(directoryPath) can't be looked at")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw DefaultsError(
                .directory,
                "The agent's directory \(directoryPath) belongs to the user with the number \(status.st_uid), not to you; "
                    + "name another socket with --socket or DEFAULTSD_SOCKET.")
        }
        guard status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0 else {
            throw DefaultsError(
                .directory,
                "Others may write to the agent's directory \(directoryPath); `chmod go-w` it, or name another.")
        }
    }
}
