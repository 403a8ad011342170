import ArgumentParser
import DefaultsClient
import DefaultsCore
import Linux

/// A point in the history: a position in the log, or a time.
enum HistoryPoint {
    case cursor(Cursor)
    /// The number at the end of a cursor, as `defaults log` shows it.
    case revision(Revision)
    case time(Timestamp)

    /// Reads a point as people type it.
    ///
    /// - Throws: A `ValidationError` that says what can be typed.
    init(typed text: String) throws {
        if let cursor = try? Cursor(text) {
            self = .cursor(cursor)
        } else if let revision = Revision(text) {
            self = .revision(revision)
        } else if let time = TypedTime.read(text) {
            self = .time(time)
        } else {
            throw ValidationError(
                "Give a number from `defaults log`, a cursor, or a time such as 10m, \"2 hours ago\", yesterday, 10:15 "
                    + "or \"2026-11-24 10:15\".")
        }
    }

    /// Checks that a position is in the agent's log.
    func check(_ history: HistoryReader) throws {
        if case .cursor(let cursor) = self, cursor.epoch != history.end.epoch { throw DefaultsError.otherLog(cursor) }
        if let revision, revision > history.end.revision {
            throw Failure(
                "There is no change \(revision) yet; the last one is \(history.end.revision).", .notFound)
        }
    }

    /// The number of a position; `nil` for a time.
    var revision: Revision? {
        switch self {
        case .cursor(let cursor): cursor.revision
        case .revision(let revision): revision
        case .time: nil
        }
    }

    /// Returns whether a record is at this point or before it.
    func includes(_ record: LogRecord) -> Bool {
        switch self {
        case .cursor(let cursor): record.revision <= cursor.revision
        case .revision(let revision): record.revision <= revision
        case .time(let time): record.time <= time
        }
    }

    /// Whether all records before an included one are included, too.
    ///
    /// Those before a time may be anywhere, since the clock may have been set back.
    var isPosition: Bool {
        if case .time = self { false } else { true }
    }

    /// Returns whether this is the position of a record.
    func names(_ record: LogRecord) -> Bool {
        record.revision == revision
    }

    /// Returns the cursor after which an agent's stream has everything that comes after this point.
    ///
    /// After a time, the stream may have earlier changes, too, if the clock was set back.
    func cursor(in agent: AgentConnection) throws -> Cursor {
        if case .cursor(let cursor) = self { return cursor }
        var history = try HistoryReader(agent, matching: SubscriptionFilter())
        try check(history)
        if let revision { return Cursor(epoch: history.end.epoch, revision: revision) }
        var first = history.end.revision + 1
        while let record = try history.next() {
            if !includes(record) { first = min(first, record.revision) }
        }
        return Cursor(epoch: history.end.epoch, revision: max(first, 1) - 1)
    }
}

/// The part of the history that a verb works on.
struct HistoryRange: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The start: a time, a number or a cursor.", valueName: "time"),
        transform: HistoryPoint.init(typed:))
    var since: HistoryPoint?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The end: a time, a number or a cursor.", valueName: "time"),
        transform: HistoryPoint.init(typed:))
    var until: HistoryPoint?

    /// Checks that positions are in the agent's log.
    func check(_ history: HistoryReader) throws {
        for point in [since, until] { try point?.check(history) }
        let isReversed =
            switch (since, until) {
            case (.time(let start)?, .time(let end)?): start > end
            case (let start?, let end?): start.revision ?? 0 > end.revision ?? .max
            default: false
            }
        if isReversed { throw Failure("--until is before --since.", .usage) }
    }

    /// Returns whether a record is in this part.
    func contains(_ record: LogRecord) -> Bool {
        !(since?.includes(record) ?? false) && until?.includes(record) ?? true
    }

    /// Returns whether a record, and all records before it, are too old, so that a search may end.
    func isPassed(by record: LogRecord) -> Bool {
        since.map { $0.isPosition && $0.includes(record) } ?? false
    }
}

extension LocationChoice {
    /// Connects to the agent, whose history is to be read.
    func openHistory(of filter: SubscriptionFilter) throws -> (AgentConnection, HistoryReader) {
        let agent = try openAgent("The history needs an agent.")
        return (agent, try HistoryReader(agent, matching: filter))
    }
}

/// The domain and keys of verbs that show changes.
struct HistoryScope: ParsableArguments {
    @Argument(help: "The domain, or a pattern of names (default: all domains).", completion: Candidates.domain)
    var domain: String?
    @Argument(help: "Keys, or patterns of keys (default: all keys).", completion: Candidates.key)
    var keys: [String] = []

    /// Returns the filter, in which a name without wildcards means one domain, as with other verbs.
    func filter() throws(DefaultsError) -> SubscriptionFilter {
        try SubscriptionFilter.named(domain, keys)
    }
}

/// The program whose changes a verb works on.
struct ProgramOption: ParsableArguments {
    @Option(name: .customLong("by"), help: ArgumentHelp("Only changes by this program.", valueName: "program"))
    var program: String?

    /// Returns whether a change set was made by the program, or on its behalf: its path, or the last part of it.
    func includes(_ changeSet: ChangeSet) -> Bool {
        guard let program else { return true }
        let names: [String] = [changeSet.origin?.program, changeSet.source.program].compactMap(\.self)
        return names.contains { $0 == program || Path.lastName(of: $0) == program }
    }
}

extension Writer {
    /// The path of an app's executable, or the kind of another writer.
    fileprivate var program: String {
        switch self {
        case .app(let app): app.executable
        case .file: "file"
        case .agent: "agent"
        }
    }
}
