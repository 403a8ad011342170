import Glibc
import Linux

/// Where the agent of a preferences directory listens, and keeps its change log.
package struct AgentAddress: Hashable, Sendable {
    /// The socket's path.
    package let socketPath: String
    /// Whether someone named it; then no answer there is an error, not a reason to do without an agent.
    package let isExplicit: Bool
    /// The error of a usual address that no socket can have; clients do without an agent then.
    package let problem: DefaultsError?
    /// The directory that is there, and trusted, before any agent runs; `nil` where someone named the socket.
    let root: String?

    /// The longest path, in bytes: the kernel takes 107 of them, SwiftNIO 103, as other systems do.
    private static let longestPath = 103

    /// Finds the address: the option, `DEFAULTSD_SOCKET`, or `$XDG_RUNTIME_DIR/defaultsd/socket`.
    ///
    /// A directory that was named has an agent of its own, in a directory below that is named after it, unless it is the
    /// usual one under another name.
    ///
    /// - Throws: `directory` when someone named a path that no socket can have.
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

    /// The address at which the agent that has claimed a directory listens.
    package init(of holder: AgentClaim.Holder) {
        socketPath = holder.socketPath
        (isExplicit, root, problem) = (false, nil, Self.problem(ofPath: socketPath))
    }

    private static func problem(ofPath path: String) -> DefaultsError? {
        if path.utf8.count <= longestPath { return nil }
        return DefaultsError(
            .directory,
            "The socket's path has \(path.utf8.count) bytes, and a socket's has at most \(longestPath): \(path). "
                + "Name a shorter one with --socket or DEFAULTSD_SOCKET.")
    }

    /// The directory that holds the socket and the log.
    package var directoryPath: String { Path.directory(of: socketPath) }

    /// The file of a directory's change log, beside the socket.
    ///
    /// It bears the directory's name: an agent that serves another directory at the same socket must not take up its edits.
    package func logPath(for directory: PreferencesDirectory) -> String {
        "\(socketPath).\(directory.resolvedPathHash).log"
    }

    /// `$XDG_RUNTIME_DIR`, `/run/user/<uid>` where that is, or `/tmp`, and the agent's directory in it.
    private static func runtimeDirectory(_ environment: Environment) -> (root: String, name: String) {
        if let given = environment["XDG_RUNTIME_DIR"], Path.isAbsolute(given) { return (given, "defaultsd") }
        let usual = "/run/user/\(getuid())"
        return access(usual, W_OK) == 0 ? (usual, "defaultsd") : ("/tmp", "defaultsd-\(getuid())/defaultsd")
    }
}
