import PropertyList

extension UserDefaultsController {
    /// Follows a key as `values` has it: its value at once, then each change, applied or not, whoever made it.
    ///
    /// Only the newest is kept for who is slow, and at rest it is the last. It ends when the task is cancelled.
    ///
    /// ```swift
    /// for await quality in controller.updates(of: .quality) { slider.position = quality }
    /// ```
    public func updates<Value>(of key: DefaultsKey<Value>) -> DefaultsUpdates<Value> {
        DefaultsUpdates(defaults, keys: [key.name], controller: self) { [self] _ in
            let value = propertyListValue(forKey: key.name)
            return ([value], key.read(value, in: defaults))
        }
    }

    /// Follows one of the controller's own properties, or a value by its key path: what it is at once, then each change.
    ///
    /// Only the newest is kept for who is slow, and at rest it is the last. It ends when the task is cancelled.
    ///
    /// ```swift
    /// for await isEnabled in controller.updates(of: \.hasUnappliedChanges) { applyButton.isEnabled = isEnabled }
    /// for await name in controller.updates(of: \.values.userName) { show(name) }
    /// ```
    public func updates<Value: DefaultsValue>(
        of property: any KeyPath<UserDefaultsController, Value> & Sendable
    ) -> DefaultsUpdates<Value> {
        DefaultsUpdates(defaults, keys: nil, controller: self) { [self] _ in
            let value = self[keyPath: property]
            return ([try? value.propertyListValue], value)
        }
    }
}
