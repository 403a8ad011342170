import DefaultsClient
import DefaultsCore
import Glibc

/// A run of `tail`, which follows one stream across reconnects.
struct TailSession {
    private var search: AgentSearch
    let options: TailOptions
    let filter: SubscriptionFilter
    /// The cursor up to which everything has been shown.
    private var cursor: Cursor?
    private var sensitive = SensitiveKeys()
    private var shown = 0
    private let end: ContinuousClock.Instant?
    /// Whether current values that were asked for haven't all been shown yet.
    private var awaitsValues = false
    /// The reason why a run ended.
    private enum End {
        case complete
        case noReader
        case timeout
    }

    init(_ search: AgentSearch, options: TailOptions, filter: SubscriptionFilter) {
        self.search = search
        self.options = options
        self.filter = filter
        end = options.timeout.map { .now + .seconds($0) }
    }

    /// Shows changes until the count is reached, the timeout expires, or the output is closed.
    ///
    /// - Returns: False if the timeout expired before everything that was asked for was shown.
    mutating func run() throws -> Bool {
        cursor = try options.cursorFile.flatMap { try CursorFile(path: $0).read() }
        awaitsValues = options.initial && cursor ?? .ofNoLog == .ofNoLog
        var isAgain = false
        while let agent = try search.connect(again: isAgain, until: end) {
            do {
                if cursor == nil { cursor = try options.since?.cursor(in: agent) }
                return try follow(agent) != .timeout || options.count == nil
            } catch let error as DefaultsError {
                // The agent is being upgraded or replaced, so an agent will be available again soon.
                guard error.code == .agentUnavailable, !error.isTimeout else { throw error }
                Failure.report("\(error) Reconnecting.")
                isAgain = true
            }
        }
        return options.count == nil
    }

    // MARK: Following

    /// Shows a stream until the count or the deadline is reached, or the output is closed.
    private mutating func follow(_ agent: AgentConnection) throws(DefaultsError) -> End {
        let start: Subscription.Start =
            if let cursor { .after(cursor) } else if options.initial { .snapshot } else { .now }
        let begun = try agent.subscribe(start, filter: filter, mode: options.mode.subscriptionMode)
        // Values that are interrupted start over after a gap, since a key that was shown may be removed meanwhile.
        if cursor == nil { reach(start == .snapshot ? .ofNoLog : begun) }
        if options.json, options.exec == nil {
            write(ChangeJSON.ready(at: cursor ?? begun, agent: agent.welcome.pid, directory: agent.welcome.directory))
        } else if isatty(STDERR_FILENO) == 1 {
            // Nothing may happen for a long time; show that the command is ready.
            Failure.report("Following \(agent.welcome.directory) through the agent (pid \(agent.welcome.pid)).")
        }
        while options.count.map({ shown < $0 || awaitsValues }) ?? true {
            let left = AgentSearch.milliseconds(until: end)
            guard let event = try agent.nextEvent(within: left, whileReading: STDOUT_FILENO) else {
                return StandardOutput.hasReader ? .timeout : .noReader
            }
            // The agent sends the changes of all hosts.
            if case .initial(let snapshot) = event, !filter.includes(snapshot.domain) { continue }
            if case .record(let record, let cursor) = event, !filter.includes(record.domain) {
                reach(cursor)
                continue
            }
            for event in try withValues(event, agent).map({ sensitive.masked($0) }) {
                guard options.exec.map({ run($0, event) }) ?? true else { return .timeout }
                if options.exec == nil { show(event) }
            }
            if case .bookmark = event { awaitsValues = false }
            count(event)
        }
        return .complete
    }

    /// Returns an event and, if it is a record that not all changes to a domain are known, the domain's values.
    ///
    /// The values get the cursor of the record, since the stream may not have reached the one at which they are read.
    private func withValues(_ event: StreamEvent, _ agent: AgentConnection) throws(DefaultsError) -> [StreamEvent] {
        guard case .record(let record, let reached) = event, case .unknown(let domain, _) = record.event,
            var snapshot = filter(try agent.snapshot(of: domain)), !snapshot.isEmpty
        else { return [event] }
        snapshot.cursor = reached
        return [.record(record, cursor: cursor ?? .ofNoLog), .initial(snapshot)]
    }

    /// Runs a command for an event that is a change, and reports any other event.
    ///
    /// - Returns: False if the deadline passed before the command ended.
    private func run(_ command: String, _ event: StreamEvent) -> Bool {
        do throws(Failure) {
            guard let call = ChangeCommand(command, event) else {
                // Events other than changes are messages for the user.
                ChangeText(isColored: false).lines(event).forEach(Failure.report)
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
            options.style.text.lines(event).forEach(write)
        }
    }

    /// Counts an event that was shown, and records its cursor.
    private mutating func count(_ event: StreamEvent) {
        switch event {
        case .record(let record, let cursor):
            if case .change = record.event { shown += 1 }
            reach(cursor)
        case .bookmark(let cursor): reach(cursor)
        case .initial, .gap, .ended: break
        }
    }

    /// Records a cursor, after everything before it has been shown.
    ///
    /// For a snapshot, it is the cursor of the bookmark that follows.
    private mutating func reach(_ new: Cursor) {
        cursor = new
        guard let path = options.cursorFile else { return }
        do throws(Failure) { try CursorFile(path: path).write(new) } catch {
            Failure.end(error.message, error.status)
        }
    }

    private func write(_ line: String) {
        do throws(Failure) { try StandardOutput.write(line + "\n") } catch { Failure.end(error.message, error.status) }
    }
}
