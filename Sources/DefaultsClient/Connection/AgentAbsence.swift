package import DefaultsCore
import Linux

/// The reason why a program finds no agent for its directory.
///
/// Every program that needs an agent, or reports on it, describes the same state in the same words, and advises only
/// what works in that state.
package struct AgentAbsence: Sendable {
    package enum Reason: Sendable {
        /// No agent serves the directory, and one can start.
        case none
        /// The agent on the socket serves another directory, because it was started with other variables.
        case otherDirectory(Welcome)
        /// The directory's agent listens on another socket than the one that the user named.
        case otherSocket(AgentClaim.Holder)
        /// The directory's agent can't be reached, perhaps because it runs in another container, or is just starting
        /// or ending.
        case unreachable(AgentClaim.Holder?)
        /// The directory's agent belongs to another user.
        case otherUser(UInt32)
        /// The socket can't be used.
        case obstacle(DefaultsError)
    }

    package let reason: Reason
    private let directory: PreferencesDirectory
    private let address: AgentAddress

    /// Examines who serves a directory and a socket, after `AgentConnection.open` has returned `nil`.
    package init(of directory: PreferencesDirectory, at address: AgentAddress) {
        (self.directory, self.address) = (directory, address)
        let holder = AgentClaim.holder(ofDirectory: directory)
        if let holder, address.isExplicit, holder.socketPath != address.socketPath {
            reason = .otherSocket(holder)
        } else if holder != nil || AgentClaim.isHeld(of: directory) {
            reason = .unreachable(holder)
        } else if let user = AgentClaim.foreignOwner(ofDirectory: directory) {
            reason = .otherUser(user)
        } else if let obstacle = address.obstacle {
            reason = .obstacle(obstacle)
        } else if let welcome = AgentConnection.welcome(at: address) {
            reason = .otherDirectory(welcome)
        } else {
            reason = .none
        }
    }

    /// Whether an agent can start, or may appear soon.
    package var mayEnd: Bool {
        switch reason {
        case .none, .unreachable: true
        case .otherDirectory, .otherSocket, .otherUser, .obstacle: false
        }
    }

    /// A sentence that says who serves what.
    package var message: String {
        switch reason {
        case .none: "No agent serves \(directory.path)."
        case .otherDirectory(let welcome):
            "No agent serves \(directory.path): the one at \(address.socketPath) (pid \(welcome.pid)) serves "
                + "\(welcome.directory)."
        case .otherSocket(let holder):
            "The agent of \(directory.path) (\(holder.description)) listens on \(holder.socketPath), not on "
                + "\(address.socketPath)."
        case .unreachable(let holder?):
            "An agent (\(holder.description)) serves \(directory.path), but its socket \(holder.socketPath) can't be "
                + "reached from here."
        case .unreachable(nil): "The agent of \(directory.path) is starting or ending."
        case .otherUser(let user):
            "The agent of \(directory.path) belongs to user ID \(user), and serves only that user."
        case .obstacle(let error): error.what
        }
    }

    /// A sentence that says what to do.
    ///
    /// - Parameters:
    ///   - command: The command that starts an agent, in backquotes; `nil` for the one with the directory and the
    ///     socket that the user named.
    ///   - isOptional: Whether the program can work without an agent if no socket is named.
    /// - Returns: The sentence.
    package func remedy(starting command: String? = nil, isOptional: Bool = false) -> String {
        switch reason {
        case .none:
            "Start one with \(command ?? ownCommand)"
                + (isOptional && address.isExplicit
                    ? ", or omit --socket and DEFAULTSD_SOCKET to work without an agent." : ".")
        case .otherDirectory(let welcome):
            "To use \(welcome.directory), set HOME and XDG_CONFIG_HOME as for that agent. To have an agent for "
                + "\(directory.path) as well, run `defaultsd --socket \(freeSocket.quotedForShell)`."
        case .otherSocket(let holder):
            "Use that socket: `--socket \(holder.socketPath.quotedForShell)`, or unset DEFAULTSD_SOCKET."
        case .unreachable(let holder?):
            "Run the command where the agent runs, perhaps in another container or with another XDG_RUNTIME_DIR. "
                + holder.stopping
        case .unreachable(nil): "Try again."
        case .otherUser: "Run the command as that user."
        case .obstacle(let error): error.remedy ?? "Choose another socket with --socket or DEFAULTSD_SOCKET."
        }
    }

    /// The state as an error, for programs that need the agent.
    ///
    /// - Parameters:
    ///   - need: A sentence about the need for an agent, or an empty string.
    ///   - command: The command that starts an agent, in backquotes; `nil` for the one with the directory and the
    ///     socket that the user named.
    ///   - isOptional: Whether the program can work without an agent if no socket is named.
    /// - Returns: The error.
    package func error(
        _ need: String = "", starting command: String? = nil, isOptional: Bool = false
    ) -> DefaultsError {
        if case .obstacle(let error) = reason, need.isEmpty { return error }
        return DefaultsError(
            .agentUnavailable, need.isEmpty ? message : "\(need) \(message)",
            remedy: remedy(starting: command, isOptional: isOptional))
    }

    /// The command that starts an agent for the directory and the socket, in backquotes.
    private var ownCommand: String {
        let options =
            (directory.isExplicit ? ["--directory", directory.path] : [])
            + (address.isExplicit ? ["--socket", address.socketPath] : [])
        return "`\((["defaultsd"] + options.map(\.quotedForShell)).joined(separator: " "))`"
    }

    /// A socket for a second agent beside the first one's; clients find it through the claim on the directory.
    private var freeSocket: String { "\(address.directoryPath)/socket-\(directory.resolvedPathHash)" }
}
