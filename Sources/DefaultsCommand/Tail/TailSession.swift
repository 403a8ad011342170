import DefaultsCore
import DefaultsKit
import Glibc

/// A run of `tail`: follows one stream, over as many connections as it takes.
struct TailSession {
    let directory: PreferencesDirectory
    let address: AgentAddress
    let options: TailOptions
    let filter: SubscriptionFilter
    /// The place up to which everything has been shown.
    private var cursor: Cursor?
    private var shown = 0
    /// The agent that was started last; asked how it ended, so that no zombie counts as a process that lives.
    private var child: ChildAgent?
    private let end: ContinuousClock.Instant?

    /// How long an agent that was started may take to answer.
    private static let mostOfAStart = Duration.seconds(60)

    init(
        directory: PreferencesDirectory, address: AgentAddress, options: TailOptions, filter: SubscriptionFilter
    ) {
        self.directory = directory
        self.address = address
        self.options = options
        self.filter = filter
        end = options.timeout.map { .now + .seconds($0) }
    }

    /// Shows changes until the count, the time or the reader is at its end.
    mutating func run() throws {
        if let problem = address.problem { throw problem }
        cursor = try options.since.map { text throws(DefaultsError) in try Cursor(text) }
        if let kept = try options.cursorFile.map({ try CursorFile(path: $0).read() }) { cursor = kept ?? cursor }
        var isAgain = false
        while let agent = try connect(again: isAgain) {
            do throws(DefaultsError) {
                try follow(agent)
                return
            } catch {
                // An agent that was there and has gone comes back: it was upgraded, or ended and another took over.
                guard error.code == .agentUnavailable, !error.isOfSilence else { throw error }
                Failure.note("\(error) Connecting again.")
                isAgain = true
            }
        }
    }

    // MARK: Connecting

    /// Connects, and starts an agent where none answers.
    ///
    /// Others may look for an agent too: then several are started, one has the directory, and all follow it.
    ///
    /// - Parameter isAgain: whether an agent was there; whoever ran it may start it again, and is waited for a moment.
    /// - Returns: `nil` when the time is over.
    /// - Throws: when an agent answers that can't be followed, or none does and none can be started.
    private mutating func connect(again isAgain: Bool) throws -> AgentConnection? {
        var start = ContinuousClock.now + (isAgain ? pauseBeforeStart : .zero)
        var deadline = start + .seconds(10)
        var backoff = Duration.seconds(1)
        var isStarting = false
        var wasRefused = false
        var pause: Int32 = 10
        let notifications = try NotifySocket()
        while true {
            var obstacle: DefaultsError?
            do throws(DefaultsError) {
                let left = milliseconds()
                // A short time is meant for changes, not for an agent that has much to do.
                let most = left < 0 ? .max : max(Int64(left), 1_000)
                let usual = AgentPatience.usual
                let patience = AgentPatience(stopped: min(most, usual.stopped), busy: min(most, usual.busy))
                if let agent = try AgentConnection.open(address, for: directory, patience: patience) { return agent }
            } catch {
                // One that is being killed may still take a connection, and lose it while it is greeted.
                guard error.code == .agentUnavailable, !error.isOfSilence else { throw error }
                obstacle = error
            }
            if let status = try child?.status {
                child = nil
                isStarting = false
                guard status == 0 || status == ChildAgent.isSurplus || status > 128 else {
                    throw Failure("The agent exited at once; see its message above.", .unavailable)
                }
                wasRefused = status == ChildAgent.isSurplus
                if wasRefused { try checkHolder() }
                // Another one answers in a moment, unless it has ended too. That isn't hoped for without end.
                if backoff == .seconds(1) { deadline = max(start, .now) + .seconds(5) }
                start = max(start, .now + backoff)
                backoff *= 2
            }
            let left = isAgain ? milliseconds() : -1
            if left == 0 { return nil }
            guard .now < deadline else {
                if let obstacle { throw obstacle }
                throw Failure(
                    "No agent answers at \(address.socketPath), and none could be started.\(wasRefused ? others : "")",
                    .unavailable)
            }
            if child == nil, obstacle == nil, .now >= start {
                child = try ChildAgent(directory, address, telling: notifications, until: end)
                if child == nil { return nil }
                isStarting = true
                deadline = .now + Self.mostOfAStart
                pause = 10
            }
            _ = try notifications.isReady(within: left < 0 ? pause : min(pause, left))
            pause = min(pause * 2, isStarting ? 50 : 250)
        }
    }

    /// The time for which another agent is waited for, before one is started.
    ///
    /// One that was killed is started again, as a rule, by whoever ran it. One that has ended was meant to; if it was for
    /// another to start, this command's agent hands over to that.
    private var pauseBeforeStart: Duration {
        AgentClaim.isAbandoned(in: directory) ? .seconds(5) : .milliseconds(500)
    }

    /// Ends the wait where the agent that has the directory listens elsewhere.
    private func checkHolder() throws(Failure) {
        guard let holder = AgentClaim.holder(ofDirectory: directory), holder.socketPath != address.socketPath
        else { return }
        throw Failure(
            "An agent (\(holder.description)) serves \(directory.path) at \(holder.socketPath), not at "
                + "\(address.socketPath). Use its socket: `defaults tail --socket \(holder.socketPath)`.",
            .temporaryFailure)
    }

    /// The message about an agent that serves the directory at another socket.
    private var others: String {
        guard let holder = AgentClaim.holder(ofDirectory: directory) else { return "" }
        return " Another agent (\(holder.description)) already serves \(directory.path), perhaps in another container. "
            + "\(holder.stopping) Or run `defaults tail` there."
    }

    /// The milliseconds that are left, -1 for no end.
    private func milliseconds() -> Int32 {
        guard let end else { return -1 }
        return Int32(clamping: Int64(max(0, (end - .now) / .milliseconds(1)).rounded(.up)))
    }

    // MARK: Following

    /// Shows a stream until it is to end.
    private mutating func follow(_ agent: AgentConnection) throws(DefaultsError) {
        let start: Subscription.Start =
            if let cursor { .after(cursor) } else if options.initial { .snapshot } else { .now }
        let begun = try agent.subscribe(start, filter: filter, mode: options.mode.subscriptionMode)
        if options.json, options.exec == nil {
            write(ChangeJSON.ready(at: begun, agent: agent.welcome.pid, directory: agent.welcome.directory))
        } else if isatty(STDERR_FILENO) == 1 {
            // Nothing may happen for a long time; a person wants to know that it would show.
            Failure.note("following \(agent.welcome.directory) (agent pid \(agent.welcome.pid))")
        }
        while options.count.map({ shown < $0 }) ?? true {
            let left = milliseconds()
            guard let event = try agent.nextEvent(within: left, whileReading: STDOUT_FILENO) else { return }
            guard options.exec.map({ run($0, event) }) ?? true else { return }
            if options.exec == nil { show(event) }
            note(event)
        }
    }

    /// Runs a command for an event, if it is a change.
    ///
    /// - Returns: false when the time was over before the command was.
    private func run(_ command: String, _ event: StreamEvent) -> Bool {
        do throws(Failure) {
            guard let call = ChangeCommand(command, event) else {
                // What isn't a change is for the person.
                ChangeText(isColored: false).lines(event).forEach(Failure.note)
                return true
            }
            return try call.run(until: end)
        } catch {
            Failure.end(error.message, error.status)
        }
    }

    private func show(_ event: StreamEvent) {
        if options.json {
            if let line = ChangeJSON.line(event) { write(line) }
        } else {
            ChangeText(isColored: options.color.isColored()).lines(event).forEach(write)
        }
    }

    /// Counts an event that was shown, and notes its place.
    private mutating func note(_ event: StreamEvent) {
        switch event {
        case .record(let record, let place):
            if case .change = record.event { shown += 1 }
            reach(place)
        case .bookmark(let place): reach(place)
        case .initial, .gap, .ended: break
        }
    }

    /// Notes a place, once everything before it is shown: after a snapshot that is the bookmark behind it.
    private mutating func reach(_ place: Cursor) {
        cursor = place
        guard let path = options.cursorFile else { return }
        do throws(Failure) { try CursorFile(path: path).write(place) } catch {
            Failure.end(error.message, error.status)
        }
    }

    private func write(_ line: String) {
        do throws(Failure) { try StandardOutput.write(line + "\n") } catch { Failure.end(error.message, error.status) }
    }
}
