import DefaultsCore
import Observation
import PropertyList

/// A property of an object of a known type, and its key.
///
/// It remembers what both sides were when they were last the same, each in the form that is stored, so that what one
/// side has just taken from the other isn't an edit, and nothing goes round in circles.
final class ObjectProperty<Object: AnyObject, Value>: BoundProperty {
    /// Which way values go.
    struct Conversion {
        /// What the property is set to; `nil` when there is no value, and it is to be as it was in the beginning.
        var present: (PropertyListValue?) -> Value?
        /// What is stored; without it the property is never read.
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

    /// Sets the property to what the key has, and tracks it, with a wake-up for each edit.
    init(
        _ object: Object, _ keyPath: ReferenceWritableKeyPath<Object, Value>, _ controller: UserDefaultsController,
        _ key: String, _ conversion: Conversion, wakeUp: WakeUp?
    ) {
        self.object = object
        self.keyPath = keyPath
        self.controller = controller
        self.key = key
        self.conversion = conversion
        original = object[keyPath: keyPath]
        tracking = conversion.store == nil ? nil : wakeUp.map(PropertyTracking.init)
        discards = controller.discards
        present(controller.propertyListValue(forKey: key), object)
        track(object)
    }

    func synchronize() -> Bool {
        guard let object else { return false }
        let wasObserved = track(object)
        let discards = controller.discards
        let hasDiscarded = discards != self.discards
        self.discards = discards
        if hasDiscarded {
            present(controller.propertyListValue(forKey: key), object)
        } else if !isEdited(object) {
            pull(object)
        } else if wasObserved {
            push(object)
        }
        // Else an edit waits for `commit`: it isn't lost to a change of the key.
        // The property may have been set above, while nobody tracked it.
        track(object)
        return true
    }

    func commit() {
        guard let object else { return }
        if isEdited(object) { push(object) } else { pull(object) }
    }

    /// Takes over the key's value, if it has changed.
    private func pull(_ object: Object) {
        let value = controller.propertyListValue(forKey: key)
        if value != model { present(value, object) }
    }

    private func present(_ value: PropertyListValue?, _ object: Object) {
        model = value
        object[keyPath: keyPath] = conversion.present(value) ?? original
        // The object may have made something else of it.
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
            ProblemHandler.report(DefaultsProblem(.value, error))
        }
    }

    private func isEdited(_ object: Object) -> Bool {
        conversion.store != nil && stored(object) != shown
    }

    /// What would be stored of the property; `nil` also when it can't be.
    private func stored(_ object: Object) -> PropertyListValue? {
        guard let store = conversion.store else { return nil }
        return (try? store(object[keyPath: keyPath])) ?? nil
    }

    /// Has the next edit tell, unless it will already.
    ///
    /// - Returns: whether one has told since.
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
