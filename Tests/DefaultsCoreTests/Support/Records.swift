import PropertyList
import TestSupport

@testable import DefaultsCore

extension LogRecord.Event {
    /// Returns a change to one key by an app.
    static func change(
        _ domain: Domain, _ key: String, from old: PropertyListValue?, to new: PropertyListValue?
    ) -> LogRecord.Event {
        .change(ChangeSet(domain: domain, source: .testApp, changes: [KeyChange(key: key, old: old, new: new)]))
    }
}

extension ChangeLog {
    /// Appends one record per number, each of which sets the key to that number.
    mutating func count(_ domain: Domain, _ numbers: ClosedRange<Int64>, key: String = "n") {
        for number in numbers {
            let old: PropertyListValue? = number == 1 ? nil : .integer(number - 1)
            append(.change(domain, key, from: old, to: .integer(number)), at: Timestamp(nanoseconds: number))
        }
    }
}

extension StreamEvent {
    /// The kind of the event, with its revision if it has one.
    var summary: String {
        switch self {
        case .record(let record, _): "record \(record.revision)"
        case .gap(let from, let to): "gap \(from.revision) \(to.revision)"
        case .initial(let snapshot): "snapshot \(snapshot.cursor.revision)"
        case .bookmark(let cursor): "bookmark \(cursor.revision)"
        case .ended: "ended"
        }
    }
}

/// Returns what an earlier store left in an undamaged log file.
func intactLog(
    from path: String, limits: PropertyListLimits, boot: ContentHash = RecoveredLog.boot
) throws -> RecoveredLog? {
    try RecoveredLog.read(from: path, limits: limits, boot: boot).intactLog
}

extension ChangeLogFile {
    /// Creates a file with a log and marks, replacing any existing file.
    static func create(
        at path: String, log: ChangeLog, marks: [LogEntry], sizeLimit: Int
    ) throws -> ChangeLogFile {
        let file = try ChangeLogFile(drafting: Contents(of: log, marks: marks, sizeLimit: sizeLimit), for: path)
        try file.replaceOld()
        return file
    }
}
