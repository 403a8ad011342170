import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

extension UserDefaults {
    /// Changes a key's value based on its current value, without losing changes by other threads or processes.
    ///
    /// ```swift
    /// try defaults.update(.launches) { $0 += 1 }
    /// ```
    ///
    /// The value is set only if the application's or the suite's domain still has the value that the body received;
    /// otherwise, the body runs again with the new value. The call blocks until the change is saved, which takes about
    /// a millisecond, so don't use it where blocking isn't allowed. A change that can't be saved stays in effect, and
    /// saving is retried.
    ///
    /// Other threads' updates and in-place changes, such as `+=`, wait until this update ends, and so do transactions
    /// that read. In the body, don't wait for another thread, and don't change the same key.
    ///
    /// - Parameters:
    ///   - key: The key to update.
    ///   - body: A closure that changes the value. It may run several times. If it throws, nothing is set.
    /// - Returns: The body's result.
    /// - Throws: The body's error; or a `DefaultsProblem` if the value can't be stored, the edit is refused, the agent
    ///   ends before it answers, or other programs keep changing the key for a minute.
    @discardableResult
    public func update<Value, Outcome>(
        _ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Outcome
    ) throws -> Outcome {
        let (outcome, stored) = try commit(key, body)
        // Handlers may run any code, so call them without the lock.
        key.check(stored, in: self)
        publishEdit(of: [key.name])
        return outcome
    }

    /// Runs the body until its value is set.
    ///
    /// - Returns: The body's result from the run whose value was set, and the stored value that it received.
    private func commit<Value, Outcome>(
        _ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Outcome
    ) throws -> (Outcome, PropertyListValue?) {
        var backoff = Backoff.conditionalEdit
        while true {
            lockForChange()
            let old = ownValue(forKey: key.name)
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            let outcome = Result { try body(&value) }
            do throws(DefaultsError) {
                try ModificationLock.shared.unlock(for: client) { () throws(DefaultsError) in
                    guard case .success = outcome else { return }
                    let new = try PropertyListValue(storing: value, forKey: key.name)
                    try client.commit(domain, [key.name: new], expecting: [key.name: old])
                }
            } catch {
                guard Self.isWorthRepeating(error), backoff.wait() else {
                    throw DefaultsProblem(error.code == .invalidValue ? .value : .edit, error)
                }
                continue
            }
            return (try outcome.get(), stored)
        }
    }

    /// Acquires the lock for a change based on the current value.
    func lockForChange() {
        // This may take long, and changes to the values of other stores wait for the lock.
        if client.isStale || !list.hasSearched { client.search(list) }
        ModificationLock.shared.lock(for: client)
    }

    /// Sets several keys as one change set, which other processes and the file see as a whole or not at all.
    ///
    /// ```swift
    /// defaults.withTransaction { values in
    ///     values[.quality] = 1
    ///     values[.theme] = .dark
    /// }
    /// ```
    ///
    /// A transaction that only sets values returns without waiting. A transaction that reads values through its
    /// argument blocks until it is saved, like `update(_:_:)`, and is checked: if the application's or the suite's
    /// domain no longer has the values that were read, the body runs again.
    ///
    /// If the agent ends before it answers, and no other agent knows from its log whether the edit was made, the body
    /// runs again: a count may be incremented twice. If the edit is refused, or other programs keep changing the keys
    /// for a minute, the problem is reported to the handler of `setProblemHandler(_:)`, and the values are set without
    /// the check.
    ///
    /// - Parameter body: A closure that sets the values. Its reads return the value that it has set, or else the
    ///   current one. It may run several times. If it throws, nothing is set.
    /// - Returns: The body's result.
    /// - Throws: The body's error.
    public func withTransaction<Outcome, Failure>(
        _ body: (inout DefaultsTransaction) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        var backoff = Backoff.conditionalEdit
        while true {
            var transaction = DefaultsTransaction(self)
            let outcome = try body(&transaction)
            if transaction.values.isEmpty { return outcome }
            if transaction.hasRead {
                do throws(DefaultsError) {
                    lockForChange()
                    try ModificationLock.shared.unlock(for: client) { () throws(DefaultsError) in
                        try client.commit(domain, transaction.values, expecting: transaction.expected)
                    }
                    publishEdit(of: transaction.values.keys)
                    return outcome
                } catch {
                    // The edit may have been made, so setting the values unchecked could undo what others have changed
                    // since.
                    let isLost = error.code == .agentUnavailable
                    if isLost || Self.isWorthRepeating(error), backoff.wait() { continue }
                    ProblemHandler.report(DefaultsProblem(.edit, error))
                }
            }
            edit(transaction.values)
            return outcome
        }
    }

    /// Returns whether an edit failed only because another writer came first.
    private static func isWorthRepeating(_ error: DefaultsError) -> Bool {
        error.code == .changed || error.code == .locked
    }

    /// Returns a key's value in the application's or the suite's own domain.
    func ownValue(forKey key: String) -> PropertyListValue? { client.currentValues(of: domain)[key] }
}

extension Backoff {
    /// The delays between the attempts of a conditional edit.
    fileprivate static var conditionalEdit: Backoff {
        Backoff(from: .microseconds(100), to: .milliseconds(5), timeout: .seconds(60), isRandom: true)
    }
}
