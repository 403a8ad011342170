import Glibc
import Linux

/// The address of a preferences directory's agent: the path of its socket.
package struct AgentAddress: Hashable, Sendable {
    /// The socket's path.
    package let socketPath: String
    /// Whether the user named the socket; if no agent answers there, clients then fail instead of working without an
    /// agent.
    package let isExplicit: Bool
    /// The error if the default address can't be that of a socket; clients then work without an agent.
    package let problem: DefaultsError?
    /// The trusted directory that exists before any agent runs; `nil` if the user named the socket.
    let root: String?

    /// The maximum length of a path, in bytes: the kernel accepts 107, but SwiftNIO only 103, like other systems.
    private static let longestPath = 103

    /// Finds the address: the option, `DEFAULTSD_SOCKET`, or `$XDG_RUNTIME_DIR/defaultsd/socket`.
    ///
    /// A preferences directory that the user named, unless it is the default one under another name, has its own agent.
    /// Its socket is in a subdirectory named after a hash of the directory's path.
    ///
    /// - Throws: `directory` if the user named a path that is too long for a socket.
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

    /// Creates the address of a socket that a service manager has opened.
    ///
    /// - Throws: `DefaultsError` if the path can't be used.
    package init(ofInheritedSocket path: String) throws(DefaultsError) {
        (socketPath, isExplicit, root, problem) = (path, true, nil, nil)
        if let problem = Self.problem(ofPath: path) { throw problem }
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
            "The socket's path has \(path.utf8.count) bytes; the limit is \(longestPath): \(path).",
            remedy: "Choose a shorter one with --socket or DEFAULTSD_SOCKET.")
    }

    /// The directory that holds the socket.
    package var directoryPath: String { Path.directory(of: socketPath) }

    /// Returns the runtime directory (`$XDG_RUNTIME_DIR`, or else `/run/user/<uid>` if writable, or else `/tmp`) and
    /// the path of the agent's directory in it.
    private static func runtimeDirectory(_ environment: Environment) -> (root: String, name: String) {
        if let given = environment["XDG_RUNTIME_DIR"], Path.isAbsolute(given) { return (given, "defaultsd") }
        let usual = "/run/user/\(getuid())"
        return access(usual, W_OK) == 0 ? (usual, "defaultsd") : ("/tmp", "defaultsd-\(getuid())/defaultsd")
    }
}
