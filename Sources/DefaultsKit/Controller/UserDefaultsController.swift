import DefaultsCore
import Linux
public import PropertyList

/// What a preferences window works with: the values of defaults, which it may hold back until they are applied.
///
/// A value is looked up in the controller's own buffer, then in the defaults, then in the initial values. The buffer is
/// used when `appliesImmediately` is false: what is set waits there until `save()` applies it, as one change set, or
/// `revert()` drops it. The initial values are the factory defaults of "Restore Factory Defaults"; they are no substitute
/// for `register(defaults:)`, and `defaults` doesn't see them.
///
/// Any thread may use it. A set is visible in `values` when the call returns; applied at once it is in the defaults, too.
/// No call holds a lock while it calls anyone. Streams (`updates(of:)`) and Observation tell of its values and of its own
/// properties: with Observation on a task, after the change.
///
/// ```swift
/// let controller = UserDefaultsController(initialValues: ["quality": 0.8])
/// controller.appliesImmediately = false
/// controller.values[.quality] = 0.5
/// controller.hasUnappliedChanges  // true
/// controller.save()
/// ```
public final class UserDefaultsController: Sendable {
    /// The controller of the standard defaults.
    ///
    /// It has no initial values and applies immediately, unless the program sets that otherwise.
    public static let shared = UserDefaultsController()

    /// The defaults that changes are applied to.
    public let defaults: UserDefaults

    /// Nothing is called under its lock.
    private let state: ForkSafeMutex<ControllerState>

    /// Makes a controller, which applies immediately.
    ///
    /// - Parameters:
    ///   - defaults: what changes are applied to.
    ///   - initialValues: the factory defaults.
    public init(defaults: UserDefaults = .standard, initialValues: [String: PropertyListValue] = [:]) {
        self.defaults = defaults
        state = ForkSafeMutex(ControllerState(initialValues: initialValues))
    }

    // MARK: Properties

    /// The values by key: `values[.quality]`, `values["quality"]`, `values.quality`.
    public var values: Values { Values(self) }

    /// The factory defaults: what a key has that neither the buffer nor the defaults have, and what
    /// `revertToInitialValues()` sets.
    public var initialValues: [String: PropertyListValue] {
        get { read(.initialValues, \.initialValues) }
        set { change { $0.setInitialValues(newValue) } }
    }

    /// Sets the factory defaults from a dictionary of any values that can be stored.
    ///
    /// A value that can't be stored is reported to `UserDefaults.onProblem`, and left out.
    public func setInitialValues(_ values: [String: Any]) {
        initialValues = UserDefaults.stored(values)
    }

    /// Whether what is set is in the defaults at once; true in the beginning.
    ///
    /// When it becomes true, what is still in the buffer is applied; call `revert()` before to drop it.
    public var appliesImmediately: Bool {
        get { read(.appliesImmediately, \.appliesImmediately) }
        set { perform(change { $0.setAppliesImmediately(newValue) }) }
    }

    /// Whether something was set, or removed, that isn't applied yet.
    public var hasUnappliedChanges: Bool { !read(.hasUnappliedChanges, \.buffer).isEmpty }

    // MARK: Applying

    /// Applies what waits in the buffer, as one change set; a removal that waits is a removal.
    ///
    /// It does nothing when nothing waits. What waits is in the defaults when the call returns, unless another thread is
    /// saving at the same time: then that one saves it along.
    public func save() {
        var next = change { $0.beginSaving() }
        // It stays in the buffer until the defaults have it, so that no reader sees the old value in between.
        while let values = next {
            defaults.edit(values)
            next = change { $0.endSaving(values) }
        }
    }

    /// Drops what waits in the buffer, and what was edited in bound properties and not committed.
    ///
    /// Bound properties follow on their actor's next turn, and what is edited before then is dropped as well, unless the
    /// binding is told to `commit()`.
    public func revert() {
        change { $0.revert() }
    }

    /// Sets every key that has an initial value to that, as one change set, and drops all other edits.
    ///
    /// It reaches the defaults at once when `appliesImmediately`, else by `save()`. Without initial values it does nothing.
    public func revertToInitialValues() {
        perform(change { $0.revertToInitialValues() })
    }

    // MARK: Values

    /// A key's value, in the buffer, the defaults or the initial values.
    ///
    /// A removal that waits in the buffer shows what will be there once it is applied. That is found when it is read: who
    /// observes isn't told when it changes beneath the value that is to be removed.
    func propertyListValue(forKey key: String) -> PropertyListValue? {
        let (buffered, initial) = state.withLock { ($0.contents.buffer[key], $0.contents.initialValues[key]) }
        switch buffered {
        case .some(let value?): return value
        case .some(nil): return beneath(key) ?? initial
        case nil: return defaults.propertyListValue(forKey: key) ?? initial
        }
    }

    /// What the defaults have for a key in other domains than the one that is written to.
    private func beneath(_ key: String) -> PropertyListValue? {
        if defaults.propertyListValue(forKey: key) == nil { return nil }
        return defaults.live.holders(of: key, in: defaults.list)
            .first { $0.layer != .persistent(defaults.domain) }?.value
    }

    func set(_ value: PropertyListValue?, forKey key: String) {
        perform(change { $0.set([key: value]) })
    }

    // MARK: Observing

    /// Notes for Observation that a key is read.
    func access(_ key: String) {
        defaults.list.track(key).access()
        state.withLock { $0.track(key) }.access()
    }

    /// How often edits were discarded.
    var discards: Int { state.withLock { $0.contents.discards } }

    func add(_ observation: SearchList.Observation) {
        state.withLock { $0.observers.append(observation) }
    }

    func remove(_ observer: WakeUp) {
        state.withLock { $0.observers.removeAll { $0.observer === observer } }
    }

    // MARK: State

    private func read<Value: Sendable>(
        _ property: ControllerState.Property, _ value: @Sendable (ControllerState.Contents) -> Value
    ) -> Value {
        state.withLock { $0.track(property) }.access()
        return state.withLock { value($0.contents) }
    }

    /// Changes the state, and tells who is concerned.
    private func change<Result: Sendable>(_ body: (inout ControllerState) -> Result) -> Result {
        let (result, concerned) = state.withLock { state in
            let old = state.contents
            let result = body(&state)
            return (result, state.concerned(since: old))
        }
        for wakeUp in concerned.wakeUps { wakeUp.fill() }
        for tracked in concerned.tracked { tracked.announce() }
        return result
    }

    private func perform(_ consequence: ControllerState.Consequence) {
        switch consequence {
        case .none: break
        case .edit(let values): defaults.edit(values)
        case .save: save()
        }
    }
}
