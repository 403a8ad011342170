package import DefaultsCore
package import PropertyList
import Synchronization

/// The layers that are searched for the values of one application or suite, and the values that the search finds.
///
/// The values are in one dictionary, so that a read is a single lookup. `Client` keeps them up to date. Lock order:
/// `Client.state`, then this list's lock, then that of a `PendingChanges`. Under this list's lock, no other lock is
/// acquired, and none of the program's code runs.
package final class SearchList: Sendable {
    /// The search list's state.
    ///
    /// The type is noncopyable so that reads don't change reference counts that all threads share.
    private struct State: ~Copyable {
        var layers: [SearchLayer] = []
        /// The values that the search finds; `nil` before the first search.
        var values: DomainValues?
        /// The observations of changes.
        var observers: [Observation] = []
        /// The keys that are tracked with Observation.
        var tracked: [String: TrackedKey] = [:]
        /// The stand-in for all other tracked keys; `nil` if there are none.
        var trackedRest: TrackedKey?

        var isObserved: Bool { !observers.isEmpty || !tracked.isEmpty }
    }

    /// An observer of changes to certain keys.
    package struct Observation: Sendable {
        /// The keys; `nil` for all.
        package var keys: Set<String>?
        package var observer: WakeUp
        /// The queue for each change, in order; `nil` if a wake-up is enough.
        var recorder: PendingChanges?

        package init(keys: Set<String>?, observer: WakeUp, recorder: PendingChanges? = nil) {
            self.keys = keys
            self.observer = observer
            self.recorder = recorder
        }
    }

    private let state = ReadMostly(State())
    /// The count that includes this list while it is observed.
    private let observed: ObservedLists

    /// The maximum number of keys that are tracked one by one.
    ///
    /// All other keys share one stand-in, so that memory use stays bounded if a program reads ever more keys. Observers
    /// of one such key are notified of changes to any of them.
    package static let maximumTracked = 1_024

    package init(_ observed: ObservedLists = ObservedLists()) {
        self.observed = observed
    }

    deinit {
        if isObserved { observed.remove() }
    }

    /// The layers, the winning one first; empty before the first search.
    package var layers: [SearchLayer] { state.read { $0.layers } }

    /// The names of the languages domains among the layers.
    package var languages: [String] {
        layers.compactMap { layer in
            guard case .volatile(let name) = layer, name != SearchLayer.argumentDomain,
                name != SearchLayer.registrationDomain
            else { return nil }
            return name
        }
    }

    // MARK: Reading

    /// The outcome of a lookup.
    package enum Found {
        /// The value of the key; `nil` if it has none.
        case value(PropertyListValue?)
        /// The list hasn't been searched yet; `Client` must do that first.
        case notSearched
    }

    /// Looks up a key.
    package func find(_ key: String) -> Found {
        state.read { state in
            guard let values = state.values else { return .notSearched }
            return .value(values[key])
        }
    }

    /// Looks up several keys at the same point in time; before the first search, none has a value.
    package func find(_ keys: [String]) -> [PropertyListValue?] {
        state.read { state in keys.map { state.values?[$0] } }
    }

    /// Whether the list has been searched.
    package var hasSearched: Bool { state.read { $0.values != nil } }

    /// All values that the search finds; `nil` before the first search.
    package var values: DomainValues? { state.read { $0.values } }

    // MARK: Keeping up

    /// Sets the result of the first search, or of a search in other layers.
    ///
    /// - Returns: The changes to report to observers.
    package func replace(layers: [SearchLayer], values: DomainValues) -> [KeyChange] {
        state.change { state in
            state.layers = layers
            let old = state.values
            state.values = values
            guard let old else { return [] }
            var changes = values.compactMap { key, value in
                old[key] == value ? nil : KeyChange(key: key, old: old[key], new: value)
            }
            for (key, value) in old where values[key] == nil {
                changes.append(KeyChange(key: key, old: value, new: nil))
            }
            Self.record(changes, for: state.observers)
            return changes
        }
    }

    /// Searches again for keys that a change to a layer may affect.
    ///
    /// - Returns: The changes.
    package func refresh(
        _ keys: some Sequence<String>, in layer: SearchLayer, search: ([SearchLayer], String) -> PropertyListValue?
    ) -> [KeyChange] {
        state.change { state in
            guard state.values != nil, state.layers.contains(layer) else { return [] }
            let changes = keys.compactMap { key -> KeyChange? in
                let new = search(state.layers, key)
                let old = state.values?[key]
                if old == new { return nil }
                state.values?[key] = new
                return KeyChange(key: key, old: old, new: new)
            }
            Self.record(changes, for: state.observers)
            return changes
        }
    }

    /// Appends changes to the observers' queues before another thread can make the next change.
    private static func record(_ changes: [KeyChange], for observers: [Observation]) {
        for observation in observers {
            guard let recorder = observation.recorder else { continue }
            for change in changes where observation.keys?.contains(change.key) ?? true { recorder.append(change) }
        }
    }

    // MARK: Observing

    /// Whether the list has observers or tracked keys.
    package var isObserved: Bool { state.read { $0.isObserved } }

    /// Changes the state, and updates the count of observed lists.
    private func changeObserving<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, before, after) = state.change { state in
            let before = state.isObserved
            let result = body(&state)
            return (result, before, state.isObserved)
        }
        if after, !before { observed.add() }
        if before, !after { observed.remove() }
        return result
    }

    /// Adds an observer of changes from now on, until `remove` is called with its wake-up.
    package func add(_ observation: Observation) {
        changeObserving { $0.observers.append(observation) }
    }

    /// Removes an observer.
    package func remove(_ observer: WakeUp) {
        changeObserving { $0.observers.removeAll { $0.observer === observer } }
    }

    /// Returns the stand-in for a key with Observation.
    package func track(_ key: String) -> TrackedKey {
        // The stand-in usually exists already, and a read of a typed key must not block other readers.
        if let tracked = state.read({ $0.tracked[key] ?? $0.trackedRest }) { return tracked }
        return changeObserving { state in
            if let tracked = state.tracked[key] ?? state.trackedRest { return tracked }
            let tracked = TrackedKey()
            if state.tracked.count < Self.maximumTracked {
                state.tracked[key] = tracked
            } else {
                state.trackedRest = tracked
            }
            return tracked
        }
    }

    /// Returns the wake-ups and the tracked keys to notify of changes.
    package func observers(of changes: [KeyChange]) -> (wakeUps: [WakeUp], tracked: [TrackedKey]) {
        state.read { state in
            if state.observers.isEmpty, state.tracked.isEmpty { return ([], []) }
            let wakeUps = state.observers.compactMap { observation -> WakeUp? in
                guard let keys = observation.keys else { return observation.observer }
                return changes.contains { keys.contains($0.key) } ? observation.observer : nil
            }
            var tracked = changes.compactMap { state.tracked[$0.key] }
            if let rest = state.trackedRest, tracked.count < changes.count { tracked.append(rest) }
            return (wakeUps, tracked)
        }
    }
}

/// A count of the search lists of a process that have observers.
package final class ObservedLists: Sendable {
    private let count = Atomic(0)

    /// Whether any list has observers.
    package var isAny: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    package func add() { count.add(1, ordering: .sequentiallyConsistent) }

    package func remove() { count.subtract(1, ordering: .sequentiallyConsistent) }
}
