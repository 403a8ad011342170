import DefaultsCore
import PropertyList

extension UserDefaults {
    /// Registers the default values of keys, so that untyped reads and other libraries find them, too.
    ///
    /// Each default is evaluated now, once; a typed read goes on evaluating its own. A default that is `nil` isn't
    /// registered, and one that can't be stored is reported to `onProblem`. The values are the process's, as with
    /// `register(defaults:)`.
    ///
    /// ```swift
    /// defaults.register(.quality, .theme)
    /// defaults.double(forKey: "quality")  // 0.8
    /// ```
    public func register<each Value>(_ key: repeat DefaultsKey<each Value>) {
        var keys: [AnyDefaultsKey] = []
        for key in repeat each key { keys.append(AnyDefaultsKey(key)) }
        register(keys)
    }

    /// Registers the default values of keys of different types, so that untyped reads and other libraries find them, too.
    ///
    /// A default that is `nil` isn't registered, and one that can't be stored is reported to `onProblem`.
    public func register(_ keys: some Sequence<AnyDefaultsKey>) {
        var values: [String: Any] = [:]
        for key in keys {
            do throws(DefaultsError) {
                values[key.name] = try key.storedDefault()
            } catch {
                ProblemHandler.report(DefaultsProblem(.value, error))
            }
        }
        register(defaults: values)
    }

    /// Removes keys of different types from the application's or the suite's domain, as one change set.
    ///
    /// Each has its default again, unless another domain of the search list has it.
    public func reset(_ keys: some Sequence<AnyDefaultsKey>) {
        var values = Difference()
        for key in keys { values[key.name] = .some(nil) }
        if !values.isEmpty { edit(values) }
    }

    /// Follows keys of different types: their values at once, then each time one or more of them change.
    ///
    /// Each snapshot holds these keys alone, as they were at one moment; a key that isn't among them reads as its default.
    /// Only the newest is kept for a slow consumer. It ends when the task is cancelled.
    public func updates(of keys: some Sequence<AnyDefaultsKey>) -> DefaultsUpdates<DefaultsSnapshot> {
        let names = Set(keys.map(\.name)).sorted()
        return DefaultsUpdates(self, keys: Set(names)) { defaults in
            let values = defaults.entries(forKeys: names)
            return ([.dictionary(values)], DefaultsSnapshot(values: values))
        }
    }
}
