import DefaultsClient
import DefaultsCore
import Glibc

/// The search of a command that needs an agent, and starts one if none answers.
struct AgentSearch {
    let directory: PreferencesDirectory
    let address: AgentAddress
    /// The agent that this process started last.
    ///
    /// It is polled so that it is reaped, because a zombie would count as a live process.
    private var child: ChildAgent?

    init(_ directory: PreferencesDirectory, _ address: AgentAddress) {
        (self.directory, self.address) = (directory, address)
    }

    /// Connects to the agent, and starts one if none answers.
    ///
    /// - Parameters:
    ///   - isAgain: Whether this is a reconnect, which gives a supervisor time to restart the agent.
    ///   - end: The time at which to give up; `nil` for none.
    ///   - needsReader: Whether to give up if standard output has no reader, so that no agent is started in vain.
    /// - Returns: The connection; `nil` after giving up.
    /// - Throws: If the agent that answers can't be used, or no agent answers and none can be started.
    mutating func connect(
        again isAgain: Bool, until end: ContinuousClock.Instant? = nil, needingReader needsReader: Bool = false
    ) throws -> AgentConnection? {
        var start = AgentStart(at: .now, delay: isAgain ? pauseBeforeStart : .zero, hasOwn: child != nil)
        let notifications = try NotifySocket()
        while true {
            var obstacle: DefaultsError?
            do throws(DefaultsError) {
                let left = Self.milliseconds(until: end)
                // A short timeout limits the wait for changes, not the wait for a busy agent.
                let most = left < 0 ? .max : max(Int64(left), 1_000)
                let usual = AgentTimeouts.usual
                let timeouts = AgentTimeouts(stopped: min(most, usual.stopped), busy: min(most, usual.busy))
                if let agent = try AgentConnection.open(address, for: directory, timeouts: timeouts) { return agent }
            } catch {
                // An agent that is being killed may accept a connection and drop it during the handshake.
                guard error.code == .agentUnavailable, !error.isTimeout else { throw error }
                obstacle = error
            }
            if let status = try child?.status {
                child = nil
                guard start.end(with: status, at: .now) else {
                    throw Failure("The agent exited immediately; see its message above.", .unavailable)
                }
                if start.wasRefused, !absence.mayEnd { throw absence.error() }
            }
            let left = isAgain ? Self.milliseconds(until: end) : -1
            if left == 0 { return nil }
            switch start.step(at: .now, isPresent: obstacle != nil) {
            case .start: child = try ChildAgent(directory, address, notifying: notifications)
            case .wait: break
            case .giveUp:
                if let obstacle { throw obstacle }
                throw start.wasRefused
                    ? absence.error()
                    : DefaultsError(
                        .agentUnavailable, "No agent answers at \(address.socketPath), and none could be started.")
            }
            let pause = Int32(start.nextPause() / .milliseconds(1))
            _ = try notifications.isReady(within: left < 0 ? pause : min(pause, left))
            if needsReader, !StandardOutput.hasReader { return nil }
        }
    }

    /// The delay before this command starts its own agent, so that another agent can start first.
    ///
    /// An agent that was killed is usually restarted by its supervisor. An agent that exited did so on purpose. If a
    /// regular agent is about to replace it, this command's agent will hand over to the regular one.
    private var pauseBeforeStart: Duration {
        AgentClaim.isAbandoned(in: directory) ? .seconds(5) : .milliseconds(500)
    }

    private var absence: AgentAbsence { AgentAbsence(of: directory, at: address) }

    /// Returns the time left in milliseconds; -1 if there is no deadline.
    static func milliseconds(until end: ContinuousClock.Instant?) -> Int32 {
        guard let end else { return -1 }
        return Int32(clamping: Int64(max(0, (end - .now) / .milliseconds(1)).rounded(.up)))
    }
}

extension LocationChoice {
    /// Returns the search for the agent of the chosen directory, for a verb that can't do without an agent.
    func agentSearch(for verb: String) throws -> AgentSearch {
        if let variable = Environment.current[BackendChoice.noAgentVariable] {
            throw Failure(
                "`\(verb)` needs an agent. Unset \(BackendChoice.noAgentVariable) (it is \"\(variable)\").", .usage)
        }
        let (directory, address) = try resolve()
        try directory.checkExistence()
        if let problem = address.problem { throw problem }
        return AgentSearch(directory, address)
    }
}
