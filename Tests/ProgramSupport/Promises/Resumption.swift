package import DefaultsClient
package import DefaultsCore
import DefaultsKit

/// The promise that resuming from a past cursor delivers exactly the records after it.
package struct Resumption {
    package static let name = "Resumable"
    /// The latest records with their cursors; the log may have discarded earlier ones.
    package private(set) var recent: [(record: LogRecord, cursor: Cursor)] = []
    private static let capacity = 2_000

    package mutating func take(_ event: StreamEvent) {
        guard case .record(let record, let cursor) = event else { return }
        recent.append((record, cursor))
        if recent.count > 2 * Self.capacity { recent.removeFirst(Self.capacity) }
    }

    /// Compares the received records with those that a subscriber receives when it resumes from several recent cursors.
    ///
    /// - Parameter resume: A function that returns the records after a cursor, up to the end.
    /// - Returns: The differences.
    package func findings(_ resume: (Cursor) throws -> [LogRecord]) rethrows -> [String] {
        var findings: [String] = []
        for start in Set([0, recent.count / 3, recent.count - 2, recent.count - 1]) where recent.indices.contains(start)
        {
            let place = recent[start].cursor
            if try resume(place) != recent[(start + 1)...].map(\.record) {
                findings.append("\(Self.name): different records came after \(place).")
            }
        }
        return findings
    }
}

extension AgentConnection {
    /// Returns the records that a subscriber receives between two cursors; none if it gets a gap.
    package func records(
        after place: Cursor, upTo end: Cursor, matching filter: SubscriptionFilter
    ) throws -> [LogRecord] {
        _ = try subscribe(.after(place), filter: filter, mode: .everything)
        var records: [LogRecord] = []
        var reached = place.revision
        while reached < end.revision {
            guard let event = try nextEvent(within: 10_000) else { break }
            switch event {
            case .record(let record, let cursor):
                records.append(record)
                reached = cursor.revision
            case .bookmark(let cursor): reached = cursor.revision
            case .initial, .gap, .ended: return []
            }
        }
        return records
    }
}
