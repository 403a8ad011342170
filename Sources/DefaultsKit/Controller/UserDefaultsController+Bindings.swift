import DefaultsCore
import PropertyList

extension UserDefaultsController {
    /// Binds a property of an object to a key, in both directions.
    ///
    /// The property has the key's value when the call returns. Later changes of the key, by anyone, set it on the actor
    /// that called this. An edit of the property goes to the controller, and waits there when it doesn't apply
    /// immediately: by itself, on the actor's next turn, if the property is observable, else by the binding's `commit()`.
    /// When both change at once, the edit stands.
    ///
    /// ```swift
    /// @MainActor @Observable final class Player { var quality = 0.0 }
    /// let binding = controller.bind(player, \.quality, to: .quality)
    /// ```
    ///
    /// - Parameters:
    ///   - object: the object, which is held weakly.
    ///   - property: its property.
    ///   - key: the key.
    ///   - commit: when edits go to the controller.
    ///   - isolation: the actor that the object belongs to, which is the caller's.
    /// - Returns: the binding, which ends when it is let go.
    public func bind<Object: AnyObject, Value>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>, to key: DefaultsKey<Value>,
        commit: Binding.Commit = .continuously, isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        bind(
            object, property, key.name,
            ObjectProperty<Object, Value>.Conversion(
                present: { [defaults] in key.read($0, in: defaults) },
                store: { value throws(DefaultsError) in try PropertyListValue(storing: value, forKey: key.name) }),
            commit, isolation: isolation)
    }

    /// Binds a property of an object to a key by its name, in both directions.
    ///
    /// When the key has no value, or one of another type, the property is what it was when it was bound.
    ///
    /// - Parameters:
    ///   - object: the object, which is held weakly.
    ///   - property: its property.
    ///   - name: the key's name.
    ///   - commit: when edits go to the controller.
    ///   - isolation: the actor that the object belongs to, which is the caller's.
    /// - Returns: the binding, which ends when it is let go.
    public func bind<Object: AnyObject, Value: DefaultsValue>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>, to name: String,
        commit: Binding.Commit = .continuously, isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        bind(
            object, property, name,
            ObjectProperty<Object, Value>.Conversion(
                present: { $0.flatMap { Value(propertyListValue: $0) } },
                store: { value throws(DefaultsError) in try PropertyListValue(storing: value, forKey: name) }),
            commit, isolation: isolation)
    }

    /// Binds a property of an object to a key, with a transformer between what is stored and what is presented.
    ///
    /// With a transformer that has no way back, such as `isNil`, the property follows the key, and edits go nowhere.
    ///
    /// ```swift
    /// let binding = controller.bind(button, \.isHidden, to: .showsButton, transformer: .negateBoolean)
    /// ```
    ///
    /// - Parameters:
    ///   - object: the object, which is held weakly.
    ///   - property: its property.
    ///   - key: the key.
    ///   - transformer: what stands between them.
    ///   - commit: when edits go to the controller.
    ///   - isolation: the actor that the object belongs to, which is the caller's.
    /// - Returns: the binding, which ends when it is let go.
    public func bind<Object: AnyObject, Stored, Presented>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Presented>, to key: DefaultsKey<Stored>,
        transformer: DefaultsTransformer<Stored, Presented>, commit: Binding.Commit = .continuously,
        isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        bind(
            object, property, key.name,
            ObjectProperty<Object, Presented>.Conversion(
                present: transformer.presenting(BoundKey(key.name, of: defaults)) { [defaults] value in
                    if transformer.presentBound == nil { return key.read(value, in: defaults) }
                    // Such a transformer reports a value of another type itself.
                    return value.flatMap { Stored(propertyListValue: $0) } ?? key.defaultValue
                },
                store: transformer.storing(forKey: key.name)),
            commit, isolation: isolation)
    }

    /// Binds a property of an object to a key by its name, with a transformer between what is stored and presented.
    ///
    /// When the key has no value, or one of another type, the property is what the transformer makes of `nil` or, if what
    /// is stored is no `Optional`, what it was when it was bound.
    ///
    /// - Parameters:
    ///   - object: the object, which is held weakly.
    ///   - property: its property.
    ///   - name: the key's name.
    ///   - transformer: what stands between them.
    ///   - commit: when edits go to the controller.
    ///   - isolation: the actor that the object belongs to, which is the caller's.
    /// - Returns: the binding, which ends when it is let go.
    public func bind<Object: AnyObject, Stored, Presented>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Presented>, to name: String,
        transformer: DefaultsTransformer<Stored, Presented>, commit: Binding.Commit = .continuously,
        isolation: isolated (any Actor) = #isolation
    ) -> Binding {
        let nothing = (Stored.self as? any OptionalValue.Type)?.nothing as? Stored
        return bind(
            object, property, name,
            ObjectProperty<Object, Presented>.Conversion(
                present: transformer.presenting(BoundKey(name, of: defaults)) {
                    $0.flatMap { Stored(propertyListValue: $0) } ?? nothing
                },
                store: transformer.storing(forKey: name)),
            commit, isolation: isolation)
    }

    private func bind<Object: AnyObject, Value>(
        _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>, _ key: String,
        _ conversion: ObjectProperty<Object, Value>.Conversion, _ commit: Binding.Commit,
        isolation: isolated any Actor
    ) -> Binding {
        // Before the first reading, so that no change is missed.
        let observed = ObservedKeys(defaults, [key], self)
        let property = ObjectProperty(
            object, property, self, key, conversion, wakeUp: commit == .continuously ? observed.wakeUp : nil)
        let binding = Binding(property, observed)
        binding.follow(isolation: isolation)
        return binding
    }
}

extension DefaultsTransformer {
    /// The way there, from what is kept in the defaults; `nil` when there is nothing to present.
    fileprivate func presenting(
        _ key: BoundKey, _ read: @escaping (PropertyListValue?) -> Stored?
    ) -> (PropertyListValue?) -> Presented? {
        { value in
            guard let stored = read(value) else { return nil }
            guard let presentBound else { return present(stored) }
            return presentBound(stored, value, key)
        }
    }

    /// The way back, to what is kept in the defaults.
    fileprivate func storing(
        forKey key: String
    ) -> ((Presented) throws(DefaultsError) -> PropertyListValue?)? {
        guard let store else { return nil }
        return { presented throws(DefaultsError) in
            let stored: Stored
            do {
                stored = try store(presented)
            } catch {
                throw DefaultsError(.invalidValue, "\"\(key)\" can't be stored: \(error)")
            }
            return try PropertyListValue(storing: stored, forKey: key)
        }
    }
}
