#if !OVER_FOUNDATION
import DefaultsClient
package import DefaultsCore
package import PropertyList

extension UserDefaults {
    /// A typed key's value; setting it sets the key in the application's or the suite's domain.
    ///
    /// A key that isn't set in any domain reads as its default. So does a key whose value can't be read as its type;
    /// that value is left as it is, and reported once to the handler of `setProblemHandler(_:)`. Setting an `Optional`
    /// key to `nil` removes it.
    ///
    /// ```swift
    /// extension DefaultsKey where Value == Double {
    ///     static var quality: Self { Self("quality", default: 0.8) }
    /// }
    /// defaults[.quality] += 0.1
    /// ```
    ///
    /// Observation tracks reads: `withObservationTracking` and `Observations` see later changes, including those by
    /// other processes. They are notified in a task, after the change, and possibly twice if the value was read less
    /// than a tenth of a second before the change.
    ///
    /// `+=` and other in-place changes are atomic among the threads of this process that change the key in place, with
    /// `update(_:_:)`, or in a transaction that reads it. Another process may still change the value in between; use
    /// `update(_:_:)` to prevent that. An in-place change holds a lock, the same for all instances, until it ends.
    /// Don't wait for another thread during it, and don't pass the value as `inout` to an asynchronous function. It
    /// waits for other threads' in-place changes and the bodies of their updates, but only 50 ms for an update to be
    /// saved. Such an update is then repeated after the change. It waits for a transaction of several keys to be saved.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get { owner(of: key.domain)[own: key] }
        set { owner(of: key.domain)[own: key] = newValue }
        _modify { yield &owner(of: key.domain)[own: key] }
    }

    /// The value of a key of this instance's domain.
    private subscript<Value>(own key: DefaultsKey<Value>) -> Value {
        get {
            list.track(key.name).access()
            return key.read(propertyListValue(forKey: key.name), in: self)
        }
        set { finish(key, with: Result { () throws(DefaultsError) in try assign(newValue, to: key) }) }
        _modify {
            let isOvertaking = lockForChange(overtakingAfter: 50)
            list.track(key.name).access()
            let stored =
                isOvertaking
                ? client.overtakeCommits(of: key.name, in: domain) { propertyListValue(forKey: key.name) }
                : propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            // This runs even if the change throws.
            defer {
                let outcome = Result { () throws(DefaultsError) in try assign(value, to: key) }
                // Nothing was changed, so there is nothing to repeat.
                if isOvertaking, case .failure = outcome { client.letCommitsStand(of: key.name, in: domain) }
                ModificationLock.shared.unlock()
                // Handlers may run any code, so call them without the lock.
                key.check(stored, in: self)
                finish(key, with: outcome)
            }
            yield &value
        }
    }

    private func assign<Value>(_ newValue: Value, to key: DefaultsKey<Value>) throws(DefaultsError) {
        let value = try PropertyListValue(storing: newValue, for: key)
        if let refusal = client.edit(domain, with: [key.name: value])[key.name] { throw refusal }
    }

    /// Publishes an edit to this process's observers, or reports why it was refused.
    private func finish<Value>(_ key: DefaultsKey<Value>, with outcome: Result<Void, DefaultsError>) {
        switch outcome {
        case .success: publishEdit(of: [key.name])
        case .failure(let error): ProblemHandler.report(DefaultsProblem(refusal: error))
        }
    }

    /// Removes all keys from the application's or the suite's domain, as one change set.
    public func resetAll() {
        replace(domain, of: client, with: [:])
    }
}

extension PropertyListValue {
    /// Converts a new value of a typed key.
    ///
    /// If the value is `nil`, the result is `nil`, which removes the key.
    ///
    /// - Throws: `invalidValue`, if the value isn't in the key's range, can't be encoded or is nested more deeply than
    ///   a file allows.
    package init?<Value>(storing value: Value, for key: DefaultsKey<Value>) throws(DefaultsError) {
        do throws(UnstorableValue) {
            guard let converted = try key.stored(value) else { return nil }
            self = converted
        } catch {
            throw DefaultsError(.invalidValue, error.sentence(forKey: key.name))
        }
    }
}
#endif
