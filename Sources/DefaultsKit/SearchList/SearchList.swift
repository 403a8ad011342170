import DefaultsCore
import PropertyList
import Synchronization

/// The layers that are searched for one application's or suite's values, and what the search finds: one dictionary, so that
/// a read is one lookup.
///
/// `LiveDomains` keeps it up to date; its lock is taken before this one. Nothing is called under this one.
final class SearchList: Sendable {
    /// Not to be copied: who reads must not touch the counts of references that all share.
    private struct State: ~Copyable {
        var layers: [SearchLayer] = []
        /// What the search finds; `nil` until somebody reads.
        var values: DomainValues?
        /// Who is told of changes.
        var observers: [Observation] = []
        /// The keys that someone tracks with Observation.
        var tracked: [String: TrackedKey] = [:]
        /// All others that someone tracks.
        var trackedRest: TrackedKey?

        var isObserved: Bool { !observers.isEmpty || !tracked.isEmpty }
    }

    /// Someone who is told that one of some keys has changed.
    struct Observation: Sendable {
        /// The keys; `nil` for all.
        var keys: Set<String>?
        var observer: WakeUp
        /// The place for each change, in order; `nil` where a wake-up is enough.
        var recorder: PendingChanges?
    }

    private let state = ReadMostly(State())
    /// Where it is counted as long as someone is told of its changes.
    private let observed: ObservedLists

    /// The number of keys that are tracked one by one.
    ///
    /// All others are one, so that a program that reads ever more keys doesn't keep each. Who tracks one of these is told of
    /// a change of any.
    private static let mostTracked = 1_024

    init(_ observed: ObservedLists = ObservedLists()) {
        self.observed = observed
    }

    deinit {
        if isObserved { observed.remove() }
    }

    /// The layers, once they have been searched.
    var layers: [SearchLayer] { state.read { $0.layers } }

    /// The names of the languages domains among the layers.
    var languages: [String] {
        layers.compactMap { layer in
            guard case .volatile(let name) = layer, name != SearchLayer.argumentDomain,
                name != SearchLayer.registrationDomain
            else { return nil }
            return name
        }
    }

    // MARK: Reading

    /// What was found for a key.
    enum Found {
        case value(PropertyListValue?)
        /// Nobody has searched yet: `LiveDomains` is to do it.
        case notSearched
    }

    /// Looks a key up.
    func find(_ key: String) -> Found {
        state.read { state in
            guard let values = state.values else { return .notSearched }
            return .value(values[key])
        }
    }

    /// Looks keys up at one moment; none has a value before the first search.
    func find(_ keys: [String]) -> [PropertyListValue?] {
        state.read { state in keys.map { state.values?[$0] } }
    }

    /// Whether the search has been made once.
    var hasSearched: Bool { state.read { $0.values != nil } }

    /// All that the search finds; `nil` when nobody has searched yet.
    var values: DomainValues? { state.read { $0.values } }

    // MARK: Keeping up

    /// Takes what a first search found, or one in other layers.
    ///
    /// - Returns: what changed for those who are told.
    func replace(layers: [SearchLayer], values: DomainValues) -> [EffectiveChange] {
        state.change { state in
            state.layers = layers
            let old = state.values
            state.values = values
            guard let old else { return [] }
            var changes = values.compactMap { key, value in
                old[key] == value ? nil : EffectiveChange(key: key, old: old[key], new: value)
            }
            for (key, value) in old where values[key] == nil {
                changes.append(EffectiveChange(key: key, old: value, new: nil))
            }
            Self.record(changes, for: state.observers)
            return changes
        }
    }

    /// Searches anew for keys that a layer's change may concern.
    ///
    /// - Returns: what changed.
    func refresh(
        _ keys: some Sequence<String>, in layer: SearchLayer, search: ([SearchLayer], String) -> PropertyListValue?
    ) -> [EffectiveChange] {
        state.change { state in
            guard state.values != nil, state.layers.contains(layer) else { return [] }
            let changes = keys.compactMap { key -> EffectiveChange? in
                let new = search(state.layers, key)
                let old = state.values?[key]
                if old == new { return nil }
                state.values?[key] = new
                return EffectiveChange(key: key, old: old, new: new)
            }
            Self.record(changes, for: state.observers)
            return changes
        }
    }

    /// Adds changes where each is wanted, before another thread can make the next.
    private static func record(_ changes: [EffectiveChange], for observers: [Observation]) {
        for observation in observers {
            guard let recorder = observation.recorder else { continue }
            for change in changes where observation.keys?.contains(change.key) ?? true { recorder.append(change) }
        }
    }

    // MARK: Observing

    /// Whether anyone is told of changes.
    var isObserved: Bool { state.read { $0.isObserved } }

    /// Changes the state, and what it counts for.
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

    /// Tells someone of changes from now on, until their wake-up is let go.
    func add(_ observation: Observation) {
        changeObserving { $0.observers.append(observation) }
    }

    /// Tells someone no more.
    func remove(_ observer: WakeUp) {
        changeObserving { $0.observers.removeAll { $0.observer === observer } }
    }

    /// What stands for a key with Observation.
    func track(_ key: String) -> TrackedKey {
        // Nearly always it is there: reading a typed key must not keep other readers waiting.
        if let tracked = state.read({ $0.tracked[key] ?? $0.trackedRest }) { return tracked }
        return changeObserving { state in
            if let tracked = state.tracked[key] ?? state.trackedRest { return tracked }
            let tracked = TrackedKey()
            if state.tracked.count < Self.mostTracked {
                state.tracked[key] = tracked
            } else {
                state.trackedRest = tracked
            }
            return tracked
        }
    }

    /// Who is to be told of changes.
    func observers(of changes: [EffectiveChange]) -> (wakeUps: [WakeUp], tracked: [TrackedKey]) {
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
final class ObservedLists: Sendable {
    private let count = Atomic(0)

    /// Whether there is one.
    var isAny: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    func add() { count.add(1, ordering: .sequentiallyConsistent) }

    func remove() { count.subtract(1, ordering: .sequentiallyConsistent) }
}
