import DefaultsCore
import PropertyList

/// What a controller holds beside its defaults: the pure part, without locks or calls.
struct ControllerState: Sendable {
    /// What is to be done once the state has changed, with no lock held.
    enum Consequence: Sendable {
        case none
        /// These go to the defaults.
        case edit(Difference)
        /// The buffer goes to the defaults.
        case save
    }

    /// A property of the controller that is observed.
    enum Property: Hashable, Sendable { case hasUnappliedChanges, initialValues, appliesImmediately }

    /// What someone may observe.
    struct Contents: Sendable {
        /// What is to be set and removed when it is applied.
        var buffer: Difference = [:]
        var initialValues: DomainValues = [:]
        var appliesImmediately = true
        /// How often edits were discarded, which those that are still in a bound property are too.
        var discards = 0
    }

    private(set) var contents = Contents()
    /// Whether someone is passing the buffer to the defaults, and what came since is to be passed as well.
    private var isSaving = false
    private var mustSaveAgain = false

    /// Who is told of changes.
    var observers: [SearchList.Observation] = []
    /// The keys and properties that someone tracks with Observation.
    private var trackedKeys: [String: TrackedKey] = [:]
    private var trackedProperties: [Property: TrackedKey] = [:]

    init(initialValues: DomainValues) {
        contents.initialValues = initialValues
    }

    // MARK: Changing

    /// Takes what is to be set; a `nil` removes.
    mutating func set(_ values: Difference) -> Consequence {
        // What waits is older, and must not come after.
        if contents.appliesImmediately, contents.buffer.isEmpty { return .edit(values) }
        contents.buffer.merge(values) { $1 }
        return contents.appliesImmediately ? .save : .none
    }

    mutating func setInitialValues(_ values: DomainValues) {
        contents.initialValues = values
    }

    mutating func setAppliesImmediately(_ flag: Bool) -> Consequence {
        contents.appliesImmediately = flag
        return flag && !contents.buffer.isEmpty ? .save : .none
    }

    mutating func revert() {
        contents.buffer = [:]
        contents.discards += 1
    }

    mutating func revertToInitialValues() -> Consequence {
        if contents.initialValues.isEmpty { return .none }
        revert()
        return set(contents.initialValues.mapValues { .some($0) })
    }

    // MARK: Saving

    /// Takes what is to be saved; `nil` when there is nothing, or when another thread saves it along.
    mutating func beginSaving() -> Difference? {
        if contents.buffer.isEmpty { return nil }
        if isSaving {
            mustSaveAgain = true
            return nil
        }
        isSaving = true
        return contents.buffer
    }

    /// Forgets what is in the defaults now, unless it was set to something else meanwhile.
    ///
    /// - Returns: what is to be saved next.
    mutating func endSaving(_ saved: Difference) -> Difference? {
        for (key, value) in saved where contents.buffer[key] == .some(value) { contents.buffer[key] = nil }
        isSaving = false
        defer { mustSaveAgain = false }
        return mustSaveAgain ? beginSaving() : nil
    }

    // MARK: Observing

    /// What stands for a key with Observation.
    mutating func track(_ key: String) -> TrackedKey {
        if let tracked = trackedKeys[key] { return tracked }
        let tracked = TrackedKey()
        trackedKeys[key] = tracked
        return tracked
    }

    /// What stands for a property with Observation.
    mutating func track(_ property: Property) -> TrackedKey {
        if let tracked = trackedProperties[property] { return tracked }
        let tracked = TrackedKey()
        trackedProperties[property] = tracked
        return tracked
    }

    /// Who is to be told of what has changed.
    func concerned(since old: Contents) -> (wakeUps: [WakeUp], tracked: [TrackedKey]) {
        let keys = Self.changedKeys(old.buffer, contents.buffer)
            .union(Self.changedKeys(old.initialValues, contents.initialValues))
        var properties: Set<Property> = []
        if old.buffer.isEmpty != contents.buffer.isEmpty { properties.insert(.hasUnappliedChanges) }
        if old.initialValues != contents.initialValues { properties.insert(.initialValues) }
        if old.appliesImmediately != contents.appliesImmediately { properties.insert(.appliesImmediately) }
        let hasDiscarded = old.discards != contents.discards
        if keys.isEmpty, properties.isEmpty, !hasDiscarded { return ([], []) }
        let wakeUps = observers.compactMap { observation -> WakeUp? in
            guard let observed = observation.keys, !hasDiscarded else { return observation.observer }
            return observed.isDisjoint(with: keys) ? nil : observation.observer
        }
        return (wakeUps, keys.compactMap { trackedKeys[$0] } + properties.compactMap { trackedProperties[$0] })
    }

    private static func changedKeys<Value: Equatable>(_ old: [String: Value], _ new: [String: Value]) -> Set<String> {
        var keys = Set(old.keys.filter { new[$0] == nil })
        for (key, value) in new where old[key] != .some(value) { keys.insert(key) }
        return keys
    }
}
