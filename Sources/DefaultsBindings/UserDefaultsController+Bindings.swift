import DefaultsClient
import DefaultsCore
public import DefaultsKit
import PropertyList

extension UserDefaultsController {
    /// Binds a property of an object to a typed key, in both directions.
    ///
    /// The property has the key's value when the call returns. Later changes to the key, by any process, set the
    /// property on the actor that called this method. An edit of the property goes to the controller: on the actor's
    /// next turn if the property is observable, otherwise on the binding's `commit()`. If the key is set between the
    /// edit and that turn, the key's value wins, as the later one.
    ///
    /// ```swift
    /// @MainActor @Observable final class Player { var quality = 0.0 }
    /// let binding = controller.bind(player, \.quality, to: .quality)
    /// ```
    ///
    /// - Parameters:
    ///   - object: The object, which is held weakly.
    ///   - property: The property to bind.
    ///   - key: The key.
    ///   - commit: The time at which edits go to the controller.
    ///   - isolation: The actor that the object belongs to, which must be the caller's.
    /// - Returns: The binding, which ends when its last reference is released.
    public func bind<Object: AnyObject, Value>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>, to key: DefaultsKey<Value>,
        commit: Binding.Commit = .continuously, isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        let owns = defaults.owns(key)
        return bind(
            object, property, to: key.name,
            conversion: ObjectProperty<Object, Value>.Conversion(
                present: { [defaults] in key.read(owns ? $0 : nil, in: defaults) },
                store: owns ? { value throws(DefaultsError) in try PropertyListValue(storing: value, for: key) } : nil),
            commit: commit, isolation: isolation)
    }

    /// Binds a property of an object to a key, given by its name, in both directions.
    ///
    /// When the key has no value, or one of another type, the property has the value that it had when it was bound.
    ///
    /// - Parameters:
    ///   - object: The object, which is held weakly.
    ///   - property: The property to bind.
    ///   - name: The key's name.
    ///   - commit: The time at which edits go to the controller.
    ///   - isolation: The actor that the object belongs to, which must be the caller's.
    /// - Returns: The binding, which ends when its last reference is released.
    public func bind<Object: AnyObject, Value: DefaultsValue>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>, to name: String,
        commit: Binding.Commit = .continuously, isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        bind(
            object, property, to: name,
            conversion: ObjectProperty<Object, Value>.Conversion(
                present: { $0.flatMap { Value(propertyListValue: $0) } },
                store: { value throws(DefaultsError) in try PropertyListValue(storing: value, forKey: name) }),
            commit: commit, isolation: isolation)
    }

    /// Binds a property of an object to a typed key, with a transformer between the stored and the presented value.
    ///
    /// If the transformer works in only one direction, like `isNil`, the property follows the key, and edits of the
    /// property have no effect.
    ///
    /// ```swift
    /// let binding = controller.bind(button, \.isHidden, to: .showsButton, transformer: .negateBoolean)
    /// ```
    ///
    /// - Parameters:
    ///   - object: The object, which is held weakly.
    ///   - property: The property to bind.
    ///   - key: The key.
    ///   - transformer: The conversion between the key's value and the property's.
    ///   - commit: The time at which edits go to the controller.
    ///   - isolation: The actor that the object belongs to, which must be the caller's.
    /// - Returns: The binding, which ends when its last reference is released.
    public func bind<Object: AnyObject, Stored, Presented>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Presented>, to key: DefaultsKey<Stored>,
        transformer: DefaultsTransformer<Stored, Presented>, commit: Binding.Commit = .continuously,
        isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        let owns = defaults.owns(key)
        return bind(
            object, property, to: key.name,
            conversion: ObjectProperty<Object, Presented>.Conversion(
                present: transformer.presenting(BoundKey(key.name, of: defaults)) { [defaults] value in
                    if !owns { return key.defaultValue }
                    if transformer.presentBound == nil { return key.read(value, in: defaults) }
                    // Such a transformer itself reports values of another type.
                    return value.flatMap { Stored(propertyListValue: $0) } ?? key.defaultValue
                },
                store: !owns
                    ? nil
                    : transformer.storing(forKey: key.name) { value throws(DefaultsError) in
                        try PropertyListValue(storing: value, for: key)
                    }),
            commit: commit, isolation: isolation)
    }

    /// Binds a property of an object to a key, given by its name, with a transformer between the stored and the
    /// presented value.
    ///
    /// When the key has no value, or one of another type, the transformer presents `nil` if `Stored` is an `Optional`.
    /// Otherwise the property has the value that it had when it was bound.
    ///
    /// - Parameters:
    ///   - object: The object, which is held weakly.
    ///   - property: The property to bind.
    ///   - name: The key's name.
    ///   - transformer: The conversion between the key's value and the property's.
    ///   - commit: The time at which edits go to the controller.
    ///   - isolation: The actor that the object belongs to, which must be the caller's.
    /// - Returns: The binding, which ends when its last reference is released.
    public func bind<Object: AnyObject, Stored, Presented>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Presented>, to name: String,
        transformer: DefaultsTransformer<Stored, Presented>, commit: Binding.Commit = .continuously,
        isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        let nothing = (Stored.self as? any OptionalValue.Type)?.nothing as? Stored
        return bind(
            object, property, to: name,
            conversion: ObjectProperty<Object, Presented>.Conversion(
                present: transformer.presenting(BoundKey(name, of: defaults)) {
                    $0.flatMap { Stored(propertyListValue: $0) } ?? nothing
                },
                store: transformer.storing(forKey: name) { value throws(DefaultsError) in
                    try PropertyListValue(storing: value, forKey: name)
                }),
            commit: commit, isolation: isolation)
    }

    private func bind<Object: AnyObject, Value>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>, to key: String,
        conversion: ObjectProperty<Object, Value>.Conversion, commit: Binding.Commit,
        isolation: isolated any Actor
    ) -> Binding {
        // Register before the first read, so that no change is missed.
        let observed = ObservedKeys(defaults, keys: [key], and: self)
        let property = ObjectProperty(
            object, at: property, of: self, key: key, conversion: conversion,
            wakeUp: commit == .continuously ? observed.wakeUp : nil)
        let binding = Binding(property, observing: observed)
        binding.follow(isolation: isolation)
        return binding
    }
}

extension DefaultsTransformer {
    /// Returns the conversion from the key's value to the property's, which returns `nil` when there is nothing to
    /// present.
    fileprivate func presenting(
        _ key: BoundKey, _ read: @escaping (PropertyListValue?) -> Stored?
    ) -> (PropertyListValue?) -> Presented? {
        { value in
            guard let stored = read(value) else { return nil }
            guard let presentBound else { return present(stored) }
            return presentBound(stored, value, key)
        }
    }

    /// Returns the conversion from the property's value to the key's; `nil` for a one-way transformer.
    fileprivate func storing(
        forKey key: String, _ convert: @escaping (Stored) throws(DefaultsError) -> PropertyListValue?
    ) -> ((Presented) throws(DefaultsError) -> PropertyListValue?)? {
        guard let store else { return nil }
        return { presented throws(DefaultsError) in
            let stored: Stored
            do {
                stored = try store(presented)
            } catch {
                throw DefaultsError(.invalidValue, "\"\(key)\" can't be stored: \(error)")
            }
            return try convert(stored)
        }
    }
}
