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
    private let end: ContinuousClock.Instant?

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
        cursor = try options.since.map { text throws(DefaultsError) in try Cursor(text) }
        if let kept = try options.cursorFile.map({ try CursorFile(path: $0).read() }) { cursor = kept ?? cursor }
        var agent = try connect()
        while true {
            do throws(DefaultsError) {
                try follow(agent)
                return
            } catch {
                // An agent that was there and has gone comes back: it was upgraded, or ended and another took over.
                guard error.code == .agentUnavailable else { throw error }
                Failure.note("\(error) Connecting again.")
                agent = try reconnect()
            }
        }
    }

    // MARK: Connecting

    /// Connects, and starts an agent where none answers.
    private func connect() throws -> AgentConnection {
        if let agent = try AgentConnection.open(address, for: directory) { return agent }
        try ChildAgent.start(directory, address)
        guard let agent = try AgentConnection.open(address, for: directory) else {
            throw Failure("The agent that was started doesn't answer at \(address.socketPath).", .unavailable)
        }
        return agent
    }

    /// Waits a while for an agent to come back, since whoever ran it may start it again; then starts one.
    private func reconnect() throws -> AgentConnection {
        var pause: Int32 = 10
        var waited: Int32 = 0
        while waited < 5_000, milliseconds() != 0 {
            do throws(DefaultsError) {
                if let agent = try AgentConnection.open(address, for: directory) { return agent }
            } catch {
                // An agent that is being killed may still take a connection after it has lost the others.
                guard error.code == .agentUnavailable else { throw error }
            }
            poll(nil, 0, pause)
            waited += pause
            pause = min(pause * 2, 500)
        }
        return try connect()
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
        if options.json {
            write(ChangeJSON.ready(at: begun, agent: agent.welcome.pid, directory: agent.welcome.directory))
        } else if isatty(STDERR_FILENO) == 1 {
            // Nothing may happen for a long time; a person wants to know that it would show.
            Failure.note("following \(agent.welcome.directory) (agent pid \(agent.welcome.pid))")
        }
        while options.count.map({ shown < $0 }) ?? true {
            let left = milliseconds()
            guard let event = try agent.nextEvent(within: left, whileReading: STDOUT_FILENO) else { return }
            show(event)
        }
    }

    private mutating func show(_ event: StreamEvent) {
        if options.json {
            if let line = ChangeJSON.line(event) { write(line) }
        } else {
            ChangeText(isColored: options.color.isColored()).lines(event).forEach(write)
        }
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
