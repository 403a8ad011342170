public import DefaultsKit
import PropertyList

extension UserDefaultsController {
    /// Returns a stream of a key's value as in `values`: the current value immediately, then the newest after each
    /// change.
    ///
    /// It includes changes that aren't applied yet, and changes by all processes. A slow consumer receives only the
    /// newest value, and never misses the last. The stream ends when its task is canceled.
    ///
    /// ```swift
    /// for await quality in controller.updates(of: .quality) { slider.position = quality }
    /// ```
    public func updates<Value>(of key: DefaultsKey<Value>) -> DefaultsUpdates<Value> {
        let owns = defaults.owns(key)
        return DefaultsUpdates(defaults, keys: [key.name], and: self) { [self] _ in
            let value = owns ? propertyListValue(forKey: key.name) : nil
            return ([value], key.read(value, in: defaults))
        }
    }

    /// Returns a stream of one of the controller's own properties, or of a value given by its key path.
    ///
    /// The current value comes immediately, then the newest after each change. A slow consumer receives only the newest
    /// value, and never misses the last. The stream ends when its task is canceled.
    ///
    /// ```swift
    /// for await isEnabled in controller.updates(of: \.hasUnappliedChanges) { applyButton.isEnabled = isEnabled }
    /// for await name in controller.updates(of: \.values.userName) { show(name) }
    /// ```
    public func updates<Value: DefaultsValue>(
        of property: any KeyPath<UserDefaultsController, Value> & Sendable
    ) -> DefaultsUpdates<Value> {
        DefaultsUpdates(defaults, keys: nil, and: self) { [self] _ in
            let value = self[keyPath: property]
            return ([try? value.propertyListValue], value)
        }
    }
}
