#if !OVER_FOUNDATION
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
    /// In the body of a transaction or another update on the same domain, it becomes part of that one, and is saved
    /// with it. In its own body, the key can't be changed in any other way: that is refused.
    ///
    /// Other threads' updates wait until this update ends, and so do transactions that read, also those of other
    /// domains. In-place changes, such as `+=`, wait while the body runs; if saving takes more than 50 ms, they go
    /// first, and the update is repeated. In the body, don't wait for another thread.
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
        let owner = owner(of: key.domain)
        guard owner === self else { return try owner.update(key, body) }
        if let open = OpenTransaction.ofThread(for: domain, of: client) {
            let (outcome, stored) = try open.join { try DefaultsTransaction(self, in: open).update(key, body) }
            key.check(stored, in: self)
            return outcome
        }
        let (outcome, stored) = try repeatedly { open in try DefaultsTransaction(self, in: open).update(key, body) }
        key.check(stored, in: self)
        return outcome
    }

    /// Does the same as the other form, but suspends the task instead of blocking a thread.
    ///
    /// The body runs on a thread of the library, after those of earlier calls. If the task is canceled, the update is
    /// made nevertheless.
    @discardableResult
    public func update<Value, Outcome: Sendable>(
        _ key: DefaultsKey<Value>, _ body: @escaping @Sendable (inout Value) throws -> Outcome
    ) async throws -> Outcome {
        try await suspending { [self] in try update(key, body) }
    }

    /// Sets a key, and waits until the value is saved, or throws the reason why it wasn't set.
    ///
    /// ```swift
    /// try defaults.store(80, for: .fontSize)  // throws: "fontSize" must be 6 to 72.
    /// ```
    ///
    /// Assignments, such as `defaults[.fontSize] = 80`, return at once and can't throw, so they report the reason to
    /// the handler of `setProblemHandler(_:)`. This call takes about a millisecond. A value that can't be saved yet
    /// stays in effect, and saving is retried.
    ///
    /// - Throws: A `DefaultsProblem` if the value can't be stored, isn't in the key's range, or is refused, for example
    ///   by an enforced manifest.
    public func store<Value>(_ value: Value, for key: DefaultsKey<Value>) throws {
        try owner(of: key.domain).store { values in values[key] = value }
    }

    /// Does the same as the other form, but suspends the task instead of blocking a thread.
    public func store<Value>(_ value: Value, for key: DefaultsKey<Value>) async throws {
        try await suspending { [self] in try store(value, for: key) }
    }

    /// Sets several keys as one change set, and waits until it is saved, or throws the reason why nothing was set.
    ///
    /// ```swift
    /// try defaults.store { values in
    ///     values[.fontSize] += 2
    ///     values[.theme] = .dark
    /// }
    /// ```
    ///
    /// This is `withTransaction(_:)` with errors: one value that can't be stored or is refused makes the call throw,
    /// and nothing is set. Like `update(_:_:)`, it runs the body again if one of the values that it has read is changed
    /// meanwhile, and makes other threads' updates wait while the body runs.
    ///
    /// - Parameter body: A closure that sets the values. It may run several times. If it throws, nothing is set.
    /// - Returns: The body's result.
    /// - Throws: The body's error; or a `DefaultsProblem`, as `update(_:_:)` does.
    @discardableResult
    public func store<Outcome>(_ body: (inout DefaultsTransaction) throws -> Outcome) throws -> Outcome {
        func run(in open: OpenTransaction) throws -> Outcome {
            do {
                return try open.throwingRefusals {
                    var transaction = DefaultsTransaction(self, in: open)
                    return try body(&transaction)
                }
            } catch let error as DefaultsError {
                throw DefaultsProblem(refusal: error)
            }
        }
        if let open = OpenTransaction.ofThread(for: domain, of: client) { return try open.join { try run(in: open) } }
        return try repeatedly(run)
    }

    /// Does the same as the other form, but suspends the task instead of blocking a thread.
    ///
    /// The body runs on a thread of the library, after those of earlier calls. If the task is canceled, the edits are
    /// made nevertheless.
    @discardableResult
    public func store<Outcome: Sendable>(
        _ body: @escaping @Sendable (inout DefaultsTransaction) throws -> Outcome
    ) async throws -> Outcome {
        try await suspending { [self] in try store(body) }
    }

    /// Runs a body and makes its edits, again and again until no other writer comes first.
    private func repeatedly<Outcome>(_ body: (OpenTransaction) throws -> Outcome) throws -> Outcome {
        var backoff = Backoff.conditionalEdit
        while true {
            let open = OpenTransaction(domain, of: client)
            lockForChange()
            let outcome: Outcome
            do {
                outcome = try open.run { try body(open) }
            } catch {
                ModificationLock.shared.unlock()
                throw error
            }
            do throws(DefaultsError) {
                try commit(open)
            } catch {
                if Self.isWorthRepeating(error), backoff.wait() { continue }
                throw DefaultsProblem(refusal: error)
            }
            // Observers may run any code, so call them without the lock.
            publishEdit(of: open.values.keys)
            return outcome
        }
    }

    /// Acquires the lock for a change based on the current value.
    ///
    /// - Parameter milliseconds: The time after which the change no longer waits for another thread's update that is
    ///   being saved; `nil` for no limit.
    /// - Returns: Whether such an update is still being saved.
    @discardableResult
    func lockForChange(overtakingAfter milliseconds: Int? = nil) -> Bool {
        // This may take long, and changes to the values of other stores wait for the lock.
        if client.isStale || !list.hasSearched { client.search(list) }
        return ModificationLock.shared.lock(for: client, overtakingAfter: milliseconds)
    }

    /// Makes a transaction's edits if the values that it has read are still in effect, and releases the lock.
    private func commit(_ open: OpenTransaction) throws(DefaultsError) {
        // A change of several keys can't be repeated after one of them was overwritten: the others have been changed.
        let isOvertakable = open.values.count == 1
        try ModificationLock.shared.unlock(for: client, isOvertakable: isOvertakable) { () throws(DefaultsError) in
            try client.commit(domain, with: open.values, expecting: open.expected)
        }
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
    /// argument blocks until it is saved, like `update(_:_:)`, and is checked. If the application's or the suite's
    /// domain no longer has the values that were read, the body runs again.
    ///
    /// If the agent ends before it answers, and no other agent knows from its log whether the edit was made, the body
    /// runs again: a count may be incremented twice. If a value is refused, the problem is reported to the handler of
    /// `setProblemHandler(_:)`, and nothing is set. If other programs keep changing the keys for a minute, that is
    /// reported, too, and the values are set without the check.
    ///
    /// A transaction or an update on the same domain in the body becomes part of this one: its changes are made with
    /// the rest, or not at all. Other changes that the body makes are made immediately, and again if the body runs
    /// again. But a key that the transaction has read or set can't be changed around it: such a change is refused and
    /// reported to the handler. In the body, don't wait for another thread that changes such a key.
    ///
    /// - Parameter body: A closure that sets the values. Its reads return the value that it has set, or else the
    ///   current one. It may run several times. If it throws, nothing is set.
    /// - Returns: The body's result.
    /// - Throws: The body's error.
    public func withTransaction<Outcome, Failure>(
        _ body: (inout DefaultsTransaction) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        if let open = OpenTransaction.ofThread(for: domain, of: client) {
            return try open.join { () throws(Failure) in
                var transaction = DefaultsTransaction(self, in: open)
                return try body(&transaction)
            }
        }
        var backoff = Backoff.conditionalEdit
        while true {
            let open = OpenTransaction(domain, of: client)
            let outcome = try open.run { () throws(Failure) in
                var transaction = DefaultsTransaction(self, in: open)
                return try body(&transaction)
            }
            if open.values.isEmpty { return outcome }
            if !open.expected.isEmpty {
                do throws(DefaultsError) {
                    lockForChange()
                    try commit(open)
                    publishEdit(of: open.values.keys)
                    return outcome
                } catch {
                    // The edit may have been made, so setting the values unchecked could undo what others have changed
                    // since.
                    let isUndecided = error.code == .agentUnavailable || Self.isWorthRepeating(error)
                    if isUndecided, backoff.wait() { continue }
                    ProblemHandler.report(DefaultsProblem(refusal: error))
                    if !isUndecided { return outcome }
                }
            }
            edit(asWhole: open.values)
            return outcome
        }
    }

    /// Returns whether an edit failed only because another writer came first.
    private static func isWorthRepeating(_ error: DefaultsError) -> Bool {
        error.code == .changed || error.code == .locked
    }
}

extension Backoff {
    /// The delays between the attempts of a conditional edit.
    fileprivate static var conditionalEdit: Backoff {
        Backoff(from: .microseconds(100), to: .milliseconds(5), timeout: .seconds(60), isRandom: true)
    }
}
#endif
