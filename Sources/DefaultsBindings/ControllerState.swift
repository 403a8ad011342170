import DefaultsClient
import DefaultsCore
import DefaultsKit
import PropertyList

/// The state of a controller apart from its defaults: the pure part, without locks or calls.
struct ControllerState: Sendable {
    /// A side effect requested by a transition, performed after the lock is released.
    enum Consequence: Sendable {
        case none
        /// An edit of the defaults.
        case edit(Difference)
        /// A save of the buffer to the defaults.
        case save
    }

    /// An observable property of the controller.
    enum Property: Hashable, Sendable { case hasUnappliedChanges, initialValues, appliesImmediately }

    /// The observable part of the state.
    struct Contents: Sendable {
        /// The edits that aren't applied yet; `nil` removes a key.
        var buffer: Difference = [:]
        var initialValues: DomainValues = [:]
        var appliesImmediately = true
        /// The number of times that edits were discarded; each time also discards edits of bound properties.
        var discards = 0
    }

    private(set) var contents = Contents()
    /// Whether a thread is passing the buffer to the defaults.
    private var isSaving = false
    /// Whether that thread must save again because another has called `save()` in the meantime.
    private var mustSaveAgain = false

    /// The observers of changes.
    var observers: [SearchList.Observation] = []
    /// The keys that Observation tracks.
    private var trackedKeys: [String: TrackedKey] = [:]
    /// The stand-in for all further keys (see `SearchList.maximumTracked`).
    private var trackedRest: TrackedKey?
    /// The properties that Observation tracks.
    private var trackedProperties: [Property: TrackedKey] = [:]

    init(initialValues: DomainValues) {
        contents.initialValues = initialValues
    }

    // MARK: Changing

    /// Sets values in the buffer, or requests the edit if the controller applies immediately; `nil` removes a key.
    mutating func set(_ values: Difference) -> Consequence {
        // Edits in the buffer are older, so they must not be applied after these.
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

    /// Returns the edits to save; `nil` when there are none, or when another thread will save them.
    mutating func beginSaving() -> Difference? {
        if contents.buffer.isEmpty { return nil }
        if isSaving {
            mustSaveAgain = true
            return nil
        }
        isSaving = true
        return contents.buffer
    }

    /// Removes saved edits from the buffer, unless a key was set to another value in the meantime.
    ///
    /// Refused edits stay, except in a controller that applies edits immediately: it would try them again each time.
    ///
    /// - Returns: The edits to save next.
    mutating func endSaving(_ saved: Difference, refused: Set<String> = []) -> Difference? {
        for (key, value) in saved where contents.buffer[key] == .some(value) {
            if contents.appliesImmediately || !refused.contains(key) { contents.buffer[key] = nil }
        }
        isSaving = false
        defer { mustSaveAgain = false }
        return mustSaveAgain ? beginSaving() : nil
    }

    // MARK: Observing

    /// Returns the object that represents a key for Observation.
    mutating func track(_ key: String) -> TrackedKey {
        if let tracked = trackedKeys[key] ?? trackedRest { return tracked }
        let tracked = TrackedKey()
        if trackedKeys.count < SearchList.maximumTracked {
            trackedKeys[key] = tracked
        } else {
            trackedRest = tracked
        }
        return tracked
    }

    /// Returns the object that represents a property for Observation.
    mutating func track(_ property: Property) -> TrackedKey {
        if let tracked = trackedProperties[property] { return tracked }
        let tracked = TrackedKey()
        trackedProperties[property] = tracked
        return tracked
    }

    /// Returns the observers to notify of the changes since an earlier state.
    func concerned(since old: Contents) -> (wakeUps: [WakeUp], tracked: [TrackedKey]) {
        let keys = Self.changedKeys(old.buffer, to: contents.buffer)
            .union(Self.changedKeys(old.initialValues, to: contents.initialValues))
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
        var tracked = keys.compactMap { trackedKeys[$0] } + properties.compactMap { trackedProperties[$0] }
        if let trackedRest, keys.contains(where: { trackedKeys[$0] == nil }) { tracked.append(trackedRest) }
        return (wakeUps, tracked)
    }

    private static func changedKeys<Value: Equatable>(_ old: [String: Value], to new: [String: Value]) -> Set<String> {
        var keys = Set(old.keys.filter { new[$0] == nil })
        for (key, value) in new where old[key] != .some(value) { keys.insert(key) }
        return keys
    }
}
