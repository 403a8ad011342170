import DefaultsClient
package import DefaultsCore
import DefaultsKit
import PropertyList
import Synchronization

/// The events that a subscriber received, checked against the bus's promises.
///
/// Promises that can be checked in the stream alone are `StreamPromise`s. The others need further information: earlier
/// writes and acknowledgments (`expect`), and the records that a second subscriber receives (`resumption`).
package final class StreamHistory: Sendable {
    private struct State {
        var promises: [any StreamPromise]
        var resumption = Resumption()
        var tracked = TrackedValues()
        var cursor: Cursor?
        var records = 0
        var findings: [String] = []
    }

    private let state: Mutex<State>

    /// Creates a history of the events that match a filter.
    ///
    /// - Parameters:
    ///   - filter: The subscriber's filter.
    ///   - seesAll: Whether all records match, so that no number may be missing.
    ///   - mayBeTorn: Whether a writer may leave a file half-written.
    package init(filter: SubscriptionFilter, seesAll: Bool = true, mayBeTorn: Bool = false) {
        let promises: [any StreamPromise] = [
            Order(seesAll: seesAll), Atomicity(), PreviousValue(), Bookmarks(), Filtering(filter: filter),
            SnapshotOrder(),
        ]
        state = Mutex(State(promises: promises + (mayBeTorn ? [] : [NoFalseAlarm()])))
    }

    /// The number of received records.
    package var records: Int { state.withLock { $0.records } }
    /// The breaches of promises.
    package var findings: [String] { state.withLock { $0.findings } }
    /// The latest records.
    package var resumption: Resumption { state.withLock { $0.resumption } }

    /// Checks the next event.
    package func take(_ event: StreamEvent) {
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

    /// Records that the subscriber has failed.
    package func fail(_ reason: String) {
        state.withLock { $0.findings.append("The subscriber: \(reason)") }
    }

    /// Returns whether all records up to a cursor have arrived.
    package func hasCome(_ cursor: Cursor) -> Bool {
        state.withLock { state in state.cursor.map { $0.revision >= cursor.revision } ?? false }
    }

    /// Checks a promise about the values in the records received so far.
    ///
    /// - Parameters:
    ///   - promise: The promise's name.
    ///   - numbers: The smallest number that each key must have reached.
    package func expect(_ promise: String, _ numbers: [String: Int64]) {
        state.withLock { state in
            for (key, least) in numbers {
                if case .integer(let there)? = state.tracked.values[key], there >= least { continue }
                state.findings.append(
                    "\(promise): \(key) is \(state.tracked.values[key].map { "\($0)" } ?? "nothing"), not \(least).")
            }
        }
    }

    /// Compares the values that result from the records with the agent's values.
    package func compare(with values: DomainValues) {
        state.withLock { state in
            if !state.tracked.agree(with: values) {
                state.findings.append("The records don't result in the agent's values.")
            }
        }
    }
}
