import DefaultsCore
import PropertyList

extension UserDefaults {
    /// A typed key's value; setting it sets the key in the application's or the suite's domain.
    ///
    /// A key that no domain has reads as its default; so does one whose value can't be read as the type, which is reported to
    /// `onProblem`, once. Setting an `Optional` key to `nil` removes it. What is read here is tracked by Observation:
    /// `withObservationTracking` and `Observations` see changes, by other processes too. They are told on a task, after the
    /// change; for a value that was read within the last tenth of a second perhaps twice.
    ///
    /// ```swift
    /// extension DefaultsKey where Value == Double {
    ///     static var quality: Self { Self("quality", default: 0.8) }
    /// }
    /// defaults[.quality] += 0.1
    /// ```
    ///
    /// `+=` and other changes in place are safe among the process's threads that all use them, or `update(_:_:)`. Another
    /// process may change the value in between; to exclude that, use `update(_:_:)`. A change in place holds a lock until it
    /// ends: don't wait for another thread in it, and don't pass the value as `inout` to an asynchronous function.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get {
            list.track(key.name).access()
            return key.read(propertyListValue(forKey: key.name), in: self)
        }
        set { finish(key, Result { () throws(DefaultsError) in try store(newValue, for: key) }) }
        _modify {
            live.modifications.lock()
            list.track(key.name).access()
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            // Also if the change throws.
            defer {
                let outcome = Result { () throws(DefaultsError) in try store(value, for: key) }
                live.modifications.unlock()
                // Handlers may do anything, and so are called without the lock.
                key.check(stored, in: self)
                finish(key, outcome)
            }
            yield &value
        }
    }

    private func store<Value>(_ newValue: Value, for key: DefaultsKey<Value>) throws(DefaultsError) {
        live.edit(domain, [key.name: try PropertyListValue(storing: newValue, forKey: key.name)])
    }

    /// Tells of an edit, or of why it wasn't made.
    private func finish<Value>(_ key: DefaultsKey<Value>, _ outcome: Result<Void, DefaultsError>) {
        switch outcome {
        case .success: postEdit(of: [key.name])
        case .failure(let error): ProblemHandler.report(DefaultsProblem(.value, error))
        }
    }

    /// Removes keys from the application's or the suite's domain, as one change set: each has its default again, unless
    /// another domain of the search list has it.
    public func reset<each Value>(_ key: repeat DefaultsKey<each Value>) {
        var values = Difference()
        for key in repeat each key { values[key.name] = .some(nil) }
        edit(values)
    }

    /// Removes all keys from the application's or the suite's domain, as one change set.
    public func resetAll() {
        replace(domain, of: live, with: [:])
    }
}
