import Glibc
import Linux

/// The address of a preferences directory's agent: the socket on which it listens, with its change log beside it.
package struct AgentAddress: Hashable, Sendable {
    /// The socket's path.
    package let socketPath: String
    /// Whether the user named the socket; a missing answer is then an error, and no reason to work without an agent.
    package let isExplicit: Bool
    /// The error of a default address that no socket can have; clients then work without an agent.
    package let problem: DefaultsError?
    /// The directory that exists, and is trusted, before any agent runs; `nil` if the user named the socket.
    let root: String?

    /// The maximum length of a path, in bytes: the kernel accepts 107, SwiftNIO 103, as other systems do.
    private static let longestPath = 103

    /// Finds the address: the option, `DEFAULTSD_SOCKET`, or `$XDG_RUNTIME_DIR/defaultsd/socket`.
    ///
    /// A directory that the user named has an agent of its own, in a subdirectory that is named after it, unless it is
    /// the default directory under another name.
    ///
    /// - Throws: `directory` if the user named a path that no socket can have.
    package init(
        option: String? = nil, for directory: PreferencesDirectory, environment: Environment
    ) throws(DefaultsError) {
        if let given = option ?? environment["DEFAULTSD_SOCKET"] {
            socketPath = Path.isAbsolute(given) ? given : PreferencesDirectory.workingDirectory() + "/" + given
            (isExplicit, root, problem) = (true, nil, nil)
            if let problem = Self.problem(ofPath: socketPath) { throw problem }
        } else {
            let (root, name) = Self.runtimeDirectory(environment)
            let own = directory.isUsual(in: environment) ? "" : "/\(directory.resolvedPathHash)"
            socketPath = "\(root)/\(name)\(own)/socket"
            (isExplicit, self.root, problem) = (false, root, Self.problem(ofPath: socketPath))
        }
    }

    /// Creates the address of the agent that has claimed a directory.
    package init(of holder: AgentClaim.Holder) {
        socketPath = holder.socketPath
        (isExplicit, root, problem) = (false, nil, Self.problem(ofPath: socketPath))
    }

    private static func problem(ofPath path: String) -> DefaultsError? {
        if path.utf8.count <= longestPath { return nil }
        return DefaultsError(
            .directory,
            "The socket's path has \(path.utf8.count) bytes; the limit is \(longestPath): \(path). "
                + "Choose a shorter one with --socket or DEFAULTSD_SOCKET.")
    }

    /// The directory that holds the socket and the log.
    package var directoryPath: String { Path.directory(of: socketPath) }

    /// Returns the path of a directory's change log, beside the socket.
    ///
    /// Its name contains a hash of the directory: an agent that serves another directory on the same socket must not
    /// load its edits.
    package func logPath(for directory: PreferencesDirectory) -> String {
        "\(socketPath).\(directory.resolvedPathHash).log"
    }

    /// Returns `$XDG_RUNTIME_DIR`, or `/run/user/<uid>` if that is writable, or `/tmp`; and the agent's directory in
    /// it.
    private static func runtimeDirectory(_ environment: Environment) -> (root: String, name: String) {
        if let given = environment["XDG_RUNTIME_DIR"], Path.isAbsolute(given) { return (given, "defaultsd") }
        let usual = "/run/user/\(getuid())"
        return access(usual, W_OK) == 0 ? (usual, "defaultsd") : ("/tmp", "defaultsd-\(getuid())/defaultsd")
    }
}
