import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// The state of a directory's agent, as far as a client can see it.
struct AgentExamination {
    /// The outcome of asking the agent for its status.
    enum Answer {
        case status(AgentStatus)
        /// An agent, or another program, is there but can't be used.
        case failure(DefaultsError)
        case none(AgentAbsence)
    }

    let answer: Answer
    /// The system directories: those of the agent or, without one, those of the environment.
    let system: SystemDirectories
    /// The process of the agent that answered, if it is visible in this namespace.
    let process: RunningAgent?
    /// The agent that has claimed the directory.
    let holder: AgentClaim.Holder?

    /// The timeouts; an agent that doesn't answer in time is itself a finding.
    private static let timeouts = AgentTimeouts(stopped: 1_000, busy: 5_000)

    /// Asks the agent of a directory for its status.
    init(_ directory: PreferencesDirectory, at address: AgentAddress, in environment: Environment) {
        holder = AgentClaim.holder(ofDirectory: directory)
        let usual = SystemDirectories(environment: environment).excluding(directory)
        do throws(DefaultsError) {
            guard let agent = try AgentConnection.open(address, for: directory, timeouts: Self.timeouts) else {
                (answer, system, process) = (.none(AgentAbsence(of: directory, at: address)), usual, nil)
                return
            }
            let status = try agent.status()
            (answer, system) = (.status(AgentStatus(Fields(status))), agent.system)
            process = (try? Fields(status).integer("pid")).flatMap(Int32.init(exactly:)).flatMap(RunningAgent.init)
        } catch {
            (answer, system, process) = (.failure(error), usual, nil)
        }
    }

    /// The status; `nil` if no agent answered.
    var status: AgentStatus? {
        if case .status(let status) = answer { status } else { nil }
    }

    /// The process IDs that are this agent's, as far as they are known.
    var pids: [Int64] { [status?.pid, holder.map { Int64($0.pid) }, other].compactMap(\.self) }

    /// The process ID of the agent on the socket, if it serves another directory.
    private var other: Int64? {
        guard case .none(let absence) = answer, case .otherDirectory(let welcome) = absence.reason else { return nil }
        return Int64(welcome.pid)
    }

    /// Says what is wrong with the agent, or why none answers.
    ///
    /// - Parameters:
    ///   - directory: The directory that the agent must serve.
    ///   - address: The address at which clients look for it.
    ///   - start: The command that starts an agent.
    /// - Returns: The problems.
    @FindingList
    func findings(serving directory: PreferencesDirectory, at address: AgentAddress, start: String) -> [Finding] {
        switch answer {
        case .status(let status):
            status.findings(of: process)
            // The agent may listen on another socket, and be found through its claim on the directory.
            if let path = status.socketPath, path != address.socketPath, holder?.socketPath == path {
                Finding(
                    .note, id: "agent-at-other-socket",
                    message: "The agent listens on \(path), not on \(address.socketPath). It was found through its "
                        + "claim.",
                    remedy: "No action is needed. The agent was probably started with another XDG_RUNTIME_DIR.",
                    path: path)
            }
        case .failure(let error):
            Finding(
                .problem, id: error.isTimeout ? "agent-silent" : "agent-unusable", error: error,
                remedy: "Stop that program, or choose another socket with --socket.", path: address.socketPath)
        case .none(let absence):
            absence.findings(from: directory, at: address, start: start)
            leftovers(in: directory, at: address, start: start)
        }
    }

    /// Returns findings about files that a killed agent left, or another kind of file at the socket's path.
    @FindingList
    private func leftovers(in directory: PreferencesDirectory, at address: AgentAddress, start: String) -> [Finding] {
        let path = address.socketPath
        let remedy = "No action is needed: the next agent replaces it. To start one, run `\(start)`."
        if let status = try? FileStatus(at: path, followsLinks: false), !Self.isListening(at: address) {
            status.isSocket
                ? Finding(
                    .note, id: "socket-stale",
                    message: "No program is listening on the socket \(path), which was left by an agent that was "
                        + "killed.", remedy: remedy, path: path)
                : Finding(
                    .problem, id: "socket-unusable",
                    message: "\(path) exists and is not a socket, so no agent can start.",
                    remedy: "Move it, or choose another socket with --socket.", path: path)
        }
        if AgentClaim.isAbandoned(in: directory) {
            let path = "\(directory.path)/\(AgentClaim.fileName)"
            Finding(
                .note, id: "claim-stale",
                message: "No agent holds the claim \(path), which was left by an agent that was killed.",
                remedy: remedy, path: path)
        }
    }

    /// Returns whether the socket belongs to a running program: an agent that holds its lock, or a
    /// program that refuses this connection or is too busy for it.
    private static func isListening(at address: AgentAddress) -> Bool {
        if AgentClaim.isHeld(onSocketOf: address) { return true }
        do throws(SystemCall.Failure) { _ = try UnixSocket.connect(to: address.socketPath) } catch {
            // ENOTSOCK and the like: another kind of file.
            return [EACCES, EAGAIN, EPERM].contains(error.number)
        }
        return true
    }
}

extension AgentAbsence {
    /// Returns what the absence means for programs.
    @FindingList
    fileprivate func findings(
        from directory: PreferencesDirectory, at address: AgentAddress, start: String
    ) -> [Finding] {
        let consequence =
            address.isExplicit
            ? "Commands fail, because they must use the socket \(address.socketPath)."
            : "Programs work on its files directly, and see each other's changes up to a second later."
        switch reason {
        case .none:
            Finding(
                address.isExplicit ? .problem : .note, id: "agent-missing", message: "\(message) \(consequence)",
                remedy: "To start an agent, run `\(start)`."
                    + (address.isExplicit ? " To work without one, omit --socket and DEFAULTSD_SOCKET." : ""),
                path: directory.path)
        case .obstacle(let error):
            // `ServedLocation` has already reported a path that can't be a socket's.
            if address.problem == nil {
                Finding(
                    .problem, id: "socket-unusable", error: error, remedy: remedy(), path: address.directoryPath)
            }
        case .otherDirectory:
            Finding(
                .warning, id: "agent-of-other-directory", message: "\(message) \(consequence)", remedy: remedy(),
                path: address.socketPath)
        case .otherSocket:
            // The socket was named, so commands fail.
            Finding(
                .problem, id: "agent-unreachable", message: "\(message) \(consequence)", remedy: remedy(),
                path: directory.path)
        case .unreachable, .otherUser:
            Finding(
                .warning, id: "agent-unreachable", message: message, remedy: remedy(), path: directory.path)
        }
    }
}
