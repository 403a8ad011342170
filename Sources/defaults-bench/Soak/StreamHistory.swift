import DefaultsCore
import DefaultsKit
import PropertyList
import Synchronization

/// What a subscriber got, held to the bus's promises.
///
/// Those that show in the stream alone are `StreamPromise`s. The others need someone else's word: what was written or
/// acknowledged before (`expect`), and what a second subscriber gets (`resumption`).
final class StreamHistory: Sendable {
    private struct State {
        var promises: [any StreamPromise]
        var resumption = Resumption()
        var tracked = TrackedValues()
        var cursor: Cursor?
        var records = 0
        var findings: [String] = []
    }

    private let state: Mutex<State>

    /// Begins a history of what passes a filter.
    ///
    /// - Parameters:
    ///   - filter: what passes.
    ///   - mayBeTorn: whether anyone leaves a file half written.
    init(filter: SubscriptionFilter, mayBeTorn: Bool = false) {
        let promises: [any StreamPromise] = [
            Order(), Atomicity(), PreviousValue(), Bookmarks(), Filtering(filter: filter), SnapshotPlace(),
        ]
        state = Mutex(State(promises: promises + (mayBeTorn ? [] : [NoFalseAlarm()])))
    }

    /// How many records came.
    var records: Int { state.withLock { $0.records } }
    /// What was broken.
    var findings: [String] { state.withLock { $0.findings } }
    /// The records that came last.
    var resumption: Resumption { state.withLock { $0.resumption } }

    /// Takes the next event.
    func take(_ event: StreamEvent) {
        state.withLock { state in
            for index in state.promises.indices {
                guard let breach = state.promises[index].take(event) else { continue }
                state.findings.append("\(type(of: state.promises[index]).name): \(breach).")
            }
            state.resumption.take(event)
            state.tracked.take(event)
            switch event {
            case .initial(let snapshot): state.cursor = snapshot.cursor
            case .record(_, let cursor):
                state.records += 1
                state.cursor = cursor
            case .bookmark(let cursor): state.cursor = state.cursor ?? cursor
            case .gap, .ended: break
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

    /// Holds the records that came by now to a promise about what must be in them.
    ///
    /// - Parameters:
    ///   - promise: its name.
    ///   - numbers: the least number that each key must have come to.
    func expect(_ promise: String, _ numbers: [String: Int64]) {
        state.withLock { state in
            for (key, least) in numbers {
                if case .integer(let there)? = state.tracked.values[key], there >= least { continue }
                state.findings.append(
                    "\(promise): \(key) is \(state.tracked.values[key].map { "\($0)" } ?? "nothing"), not \(least).")
            }
        }
    }

    /// Compares what the records amount to with what the agent says.
    func compare(with values: DomainValues) {
        state.withLock { state in
            if state.tracked.values != values { state.findings.append("The records don't amount to the values.") }
        }
    }
}
