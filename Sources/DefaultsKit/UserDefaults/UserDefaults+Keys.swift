import DefaultsCore
import PropertyList

extension UserDefaults {
    /// A typed key's value; setting it sets the key in the application's or the suite's domain.
    ///
    /// A key that no domain has, or whose value can't be read as the type, has its default; such a value is reported to
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
    /// `+=` and the like change the value that they have read: no other thread of the process that uses them comes between,
    /// but another process may. `update(_:_:)` keeps those out, too.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get {
            list.track(key.name).access()
            return key.read(propertyListValue(forKey: key.name), in: self)
        }
        set { set(newValue, for: key) }
        _modify {
            live.modifications.lock()
            var value = self[key]
            // Also when what changes the value throws.
            defer {
                set(value, for: key)
                live.modifications.unlock()
            }
            yield &value
        }
    }

    private func set<Value>(_ newValue: Value, for key: DefaultsKey<Value>) {
        do throws(DefaultsError) {
            edit([key.name: try PropertyListValue(storing: newValue, forKey: key.name)])
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, error))
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
