import DefaultsClient
import DefaultsCore
import DefaultsKit
import Observation
import PropertyList
import Synchronization

/// A property of an object of a known type, together with its key.
///
/// It remembers the last value that both sides shared, in the stored form of each side. So a value that one side has
/// just received from the other isn't mistaken for an edit, and updates don't go in circles.
final class ObjectProperty<Object: AnyObject, Value>: BoundProperty {
    /// The conversions between the key's value and the property's.
    struct Conversion {
        /// The conversion to the property's value; if it returns `nil`, the property gets its original value back.
        var present: (PropertyListValue?) -> Value?
        /// The conversion to the value to store; without it, the property is never read.
        var store: ((Value) throws(DefaultsError) -> PropertyListValue?)?
    }

    private weak var object: Object?
    private let keyPath: ReferenceWritableKeyPath<Object, Value>
    private let controller: UserDefaultsController
    private let key: String
    private let conversion: Conversion
    private let original: Value
    private let tracking: PropertyTracking?

    private var model: PropertyListValue?
    private var shown: PropertyListValue?
    private var discards = 0

    /// Sets the property to the key's value, and tracks it, with a wake-up for each edit.
    init(
        _ object: Object, at keyPath: ReferenceWritableKeyPath<Object, Value>, of controller: UserDefaultsController,
        key: String, conversion: Conversion, wakeUp: WakeUp?
    ) {
        self.object = object
        self.keyPath = keyPath
        self.controller = controller
        self.key = key
        self.conversion = conversion
        original = object[keyPath: keyPath]
        tracking = conversion.store == nil ? nil : wakeUp.map(PropertyTracking.init)
        discards = controller.discards
        present(controller.propertyListValue(forKey: key), in: object)
        track(object)
    }

    func synchronize() -> Bool {
        guard let object else { return false }
        let wasObserved = track(object)
        let discards = controller.discards
        let hasDiscarded = discards != self.discards
        self.discards = discards
        if hasDiscarded {
            present(controller.propertyListValue(forKey: key), in: object)
        } else if !isEdited(object) {
            pull(object)
        } else if wasObserved {
            push(object)
        }
        // Otherwise an edit waits for `commit()`, and a change to the key doesn't overwrite it.
        // The property may have been set above while it wasn't tracked.
        track(object)
        return true
    }

    func commit() {
        guard let object else { return }
        if isEdited(object) { push(object) } else { pull(object) }
    }

    /// Sets the property to the key's value, if that has changed.
    private func pull(_ object: Object) {
        let value = controller.propertyListValue(forKey: key)
        if value != model { present(value, in: object) }
    }

    private func present(_ value: PropertyListValue?, in object: Object) {
        model = value
        object[keyPath: keyPath] = conversion.present(value) ?? original
        // The object may have changed the value in a `didSet` or a setter.
        shown = stored(object)
    }

    private func push(_ object: Object) {
        guard let store = conversion.store else { return }
        do throws(DefaultsError) {
            let value = try store(object[keyPath: keyPath])
            shown = value
            controller.set(value, forKey: key)
            model = controller.propertyListValue(forKey: key)
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, because: error))
        }
    }

    private func isEdited(_ object: Object) -> Bool {
        conversion.store != nil && stored(object) != shown
    }

    /// Returns the value to store for the property; `nil` if it has no value, or one that can't be stored.
    private func stored(_ object: Object) -> PropertyListValue? {
        guard let store = conversion.store else { return nil }
        return (try? store(object[keyPath: keyPath])) ?? nil
    }

    /// Tracks the next edit, unless it is already being tracked.
    ///
    /// - Returns: Whether an edit was reported since the last call.
    @discardableResult
    private func track(_ object: Object) -> Bool {
        guard let tracking, tracking.arm() else { return false }
        withObservationTracking {
            _ = object[keyPath: keyPath]
        } onChange: {
            tracking.fire()
        }
        return true
    }
}

/// The state of Observation for a bound property: armed while the next edit will be reported.
///
/// Observation reports an edit once, and before the property is set.
final class PropertyTracking: Sendable {
    private let wakeUp: WakeUp
    private let isArmed = Atomic(false)

    init(_ wakeUp: WakeUp) {
        self.wakeUp = wakeUp
    }

    /// Arms the tracking.
    ///
    /// - Returns: Whether the property must be tracked again, because it wasn't armed.
    func arm() -> Bool { !isArmed.exchange(true, ordering: .acquiringAndReleasing) }

    func fire() {
        isArmed.store(false, ordering: .releasing)
        wakeUp.fill()
    }
}
