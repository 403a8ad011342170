package import DefaultsClient
import DefaultsCore
public import DefaultsKit
import Linux
public import PropertyList

/// The model of a preferences window, which can hold back edits of defaults until they are applied.
///
/// Values are looked up in the controller's buffer, then in the defaults, then in the initial values. If
/// `appliesImmediately` is false, edits stay in the buffer until `save()` applies them as one change set or `revert()`
/// discards them. The initial values are the factory defaults that `revertToInitialValues()` restores. They don't
/// replace `register(defaults:)`, since reads of the defaults don't find them.
///
/// A controller is thread-safe. When the call that makes an edit returns, the edit is visible in `values` and, if
/// applied immediately, also in the defaults. No lock is held while other code is called. Streams (`updates(of:)`) and
/// Observation report changes to the values and to the controller's own properties; Observation does so in a task,
/// after the change.
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
    /// It has no initial values and applies immediately, unless the program changes that.
    public static let shared = UserDefaultsController()

    /// The defaults that edits are applied to.
    public let defaults: UserDefaults

    /// The state; nothing is called under the lock.
    private let state: ForkSafeMutex<ControllerState>

    /// Creates a controller, which applies edits immediately.
    ///
    /// - Parameters:
    ///   - defaults: The defaults that edits are applied to.
    ///   - initialValues: The factory defaults.
    public init(defaults: UserDefaults = .standard, initialValues: [String: PropertyListValue] = [:]) {
        self.defaults = defaults
        state = ForkSafeMutex(ControllerState(initialValues: initialValues))
    }

    // MARK: Properties

    /// The values by key: `values[.quality]`, `values["quality"]`, `values.quality`.
    public var values: Values { Values(self) }

    /// The factory defaults, which are the values of keys found in neither the buffer nor the defaults, and which
    /// `revertToInitialValues()` restores.
    public var initialValues: [String: PropertyListValue] {
        get { read(.initialValues, \.initialValues) }
        set { change { $0.setInitialValues(newValue) } }
    }

    /// Sets the factory defaults from a dictionary of any values that can be stored.
    ///
    /// A value that can't be stored is left out, and reported to the handler of `UserDefaults.setProblemHandler(_:)`.
    public func setInitialValues(_ values: [String: Any]) {
        initialValues = UserDefaults.stored(values)
    }

    /// Whether edits go to the defaults immediately; initially true.
    ///
    /// Setting it to true applies the edits in the buffer; call `revert()` first to discard them.
    public var appliesImmediately: Bool {
        get { read(.appliesImmediately, \.appliesImmediately) }
        set { perform(change { $0.setAppliesImmediately(newValue) }) }
    }

    /// Whether the buffer has edits that aren't applied yet.
    public var hasUnappliedChanges: Bool { !read(.hasUnappliedChanges, \.buffer).isEmpty }

    // MARK: Applying

    /// Applies the edits in the buffer, including removals, as one change set.
    ///
    /// Without such edits, it has no effect. The edits are in the defaults when the call returns, unless another thread
    /// is already saving; that thread then also saves these edits. A value that can't be stored is reported to the
    /// handler of `UserDefaults.setProblemHandler(_:)`, and stays in the buffer.
    public func save() {
        var next = change { $0.beginSaving() }
        // The edits stay in the buffer until the defaults have them, so that no reader sees an old value in between.
        while let values = next {
            let refused = defaults.edit(values)
            next = change { $0.endSaving(values, refused: refused) }
        }
    }

    /// Discards the edits in the buffer, and the uncommitted edits of bound properties.
    ///
    /// Bound properties are updated on their actor's next turn. Edits made before then are also discarded, unless the
    /// binding's `commit()` is called.
    public func revert() {
        change { $0.revert() }
    }

    /// Sets every key that has an initial value to that value, as one change set, and discards all other edits.
    ///
    /// The values reach the defaults immediately if `appliesImmediately` is true, otherwise on `save()`. Without
    /// initial values, it has no effect.
    public func revertToInitialValues() {
        perform(change { $0.revertToInitialValues() })
    }

    // MARK: Values

    /// Returns a key's value in the buffer, the defaults or the initial values.
    ///
    /// For a removal in the buffer, it returns the value that will be found once the removal is applied. That value is
    /// looked up on each read, so observers aren't notified when it changes.
    func propertyListValue(forKey key: String) -> PropertyListValue? {
        let (buffered, initial) = state.withLock { ($0.contents.buffer[key], $0.contents.initialValues[key]) }
        switch buffered {
        case .some(let value?): return value
        case .some(nil): return defaults.valueBeneath(key) ?? initial
        case nil: return defaults.propertyListValue(forKey: key) ?? initial
        }
    }

    func set(_ value: PropertyListValue?, forKey key: String) {
        perform(change { $0.set([key: value]) })
    }

    // MARK: Observing

    /// Registers a read of a key with Observation.
    func access(_ key: String) {
        defaults.list.track(key).access()
        state.withLock { $0.track(key) }.access()
    }

    /// The number of times that edits were discarded.
    var discards: Int { state.withLock { $0.contents.discards } }

    package func add(_ observation: SearchList.Observation) {
        state.withLock { $0.observers.append(observation) }
    }

    package func remove(_ observer: WakeUp) {
        state.withLock { $0.observers.removeAll { $0.observer === observer } }
    }

    // MARK: State

    private func read<Value: Sendable>(
        _ property: ControllerState.Property, _ value: @Sendable (ControllerState.Contents) -> Value
    ) -> Value {
        state.withLock { $0.track(property) }.access()
        return state.withLock { value($0.contents) }
    }

    /// Changes the state, and notifies the affected observers.
    private func change<Result: Sendable>(_ body: (inout ControllerState) -> Result) -> Result {
        let (result, concerned) = state.withLock { state in
            let old = state.contents
            let result = body(&state)
            return (result, state.concerned(since: old))
        }
        for wakeUp in concerned.wakeUps { wakeUp.fill() }
        for tracked in concerned.tracked { tracked.notify() }
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

extension UserDefaultsController: ObservationSource {}
