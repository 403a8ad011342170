import DefaultsCore
import DefaultsKit
import PropertyList
import Synchronization

/// A subscriber that holds the bus to its promises: order, no gap, no double, and old values that are right.
final class StreamHistory: Sendable {
    private struct State {
        var values: DomainValues = [:]
        var cursor: Cursor?
        var records = 0
        var findings: [String] = []
    }

    private let state = Mutex(State())

    /// How many records came.
    var records: Int { state.withLock { $0.records } }
    /// What was broken.
    var findings: [String] { state.withLock { $0.findings } }

    /// Takes the next event.
    func take(_ event: StreamEvent) {
        state.withLock { state in
            switch event {
            case .initial(let snapshot):
                state.values = snapshot.values
                state.cursor = snapshot.cursor
            case .record(let record, let cursor):
                state.records += 1
                if let last = state.cursor, cursor.epoch != last.epoch || cursor.revision != last.revision + 1 {
                    state.findings.append("Ordered, unique, gap-free: \(cursor) came after \(last).")
                }
                state.cursor = cursor
                guard case .change(let changes) = record.event else { return }
                for change in changes.changes {
                    if state.values[change.key] != change.old {
                        state.findings.append("Previous value correct: \(change.key) at \(cursor).")
                    }
                    state.values[change.key] = change.new
                }
            case .bookmark(let cursor):
                if let last = state.cursor, cursor.revision < last.revision {
                    state.findings.append("Bookmarked: \(cursor) came after \(last).")
                }
            case .gap(let from, let to):
                state.findings.append("Gap-free: a gap from \(from) to \(to), of a subscriber that keeps up.")
            case .ended:
                state.findings.append("The stream ended.")
            }
        }
    }

    /// Takes it that the subscriber came to an end.
    func fail(_ reason: String) {
        state.withLock { $0.findings.append("The subscriber: \(reason)") }
    }

    /// Whether all up to a place has come.
    func hasCome(_ cursor: Cursor) -> Bool {
        state.withLock { state in state.cursor.map { $0.revision >= cursor.revision } ?? false }
    }

    /// Compares what the records amount to with what the agent says.
    func compare(with values: DomainValues) {
        state.withLock { state in
            if state.values != values { state.findings.append("The records don't amount to the values.") }
        }
    }
}
