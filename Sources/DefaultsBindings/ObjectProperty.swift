import DefaultsClient
import DefaultsCore
import DefaultsKit
import Linux
import Observation
import PropertyList

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
        trackEdits(of: object)
    }

    func synchronize() -> Bool {
        guard let object else { return false }
        let discards = controller.discards
        let hasDiscarded = discards != self.discards
        self.discards = discards
        if hasDiscarded {
            present(controller.propertyListValue(forKey: key), in: object)
        } else if !isEdited(object) {
            pull(object)
        } else if let seen = tracking?.edit {
            // The later change wins: if the key was set after the edit, its value isn't the one that the edit replaced.
            let value = controller.propertyListValue(forKey: key)
            if value == seen { push(object) } else { present(value, in: object) }
        }
        // Otherwise an edit waits for `commit()`, and a change to the key doesn't overwrite it.
        // The property may have been set above, which isn't an edit.
        tracking?.clear()
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

    /// Tracks the edits of the property, if it is observable.
    ///
    /// Observation reports one edit, before the property is set, so the report tracks the next one.
    private func trackEdits(of object: Object) {
        guard let tracking else { return }
        // The property is set only on the actor that the binding belongs to, and there the closure is called.
        nonisolated(unsafe) let property = Weak(self)
        withObservationTracking {
            _ = object[keyPath: keyPath]
        } onChange: {
            guard let property = property.object, let object = property.object else { return }
            tracking.record(seeing: property.controller.propertyListValue(forKey: property.key))
            property.trackEdits(of: object)
        }
    }
}

private struct Weak<Object: AnyObject> {
    private(set) weak var object: Object?

    init(_ object: Object) { self.object = object }
}

/// The last edit of a bound property that Observation has reported.
final class PropertyTracking: Sendable {
    private let wakeUp: WakeUp
    /// The key's value when the property was edited; `nil` without an edit.
    private let seen = ForkSafeMutex<PropertyListValue??>(nil)

    init(_ wakeUp: WakeUp) {
        self.wakeUp = wakeUp
    }

    /// The key's value at the time of the last edit; `nil` if there was no edit.
    var edit: PropertyListValue?? { seen.withLock { $0 } }

    /// Records an edit.
    func record(seeing value: PropertyListValue?) {
        seen.withLock { $0 = .some(value) }
        wakeUp.fill()
    }

    /// Discards the record.
    func clear() { seen.withLock { $0 = nil } }
}
