import DefaultsCore
import Glibc
import PropertyList

extension UserDefaults {
    /// Changes a key's value based on its current value, and loses no change by another thread or process.
    ///
    /// ```swift
    /// try defaults.update(.launches) { $0 += 1 }
    /// ```
    ///
    /// The value is set only if the application's or the suite's domain still holds what the body was given; otherwise the body
    /// runs again with the current value. The call waits until the change is saved, about a millisecond, so don't call it
    /// where you must not block. A change that can't be saved stays in force, and is retried. Other threads' updates, and their
    /// changes in place such as `+=`, wait until this one is done: don't wait for another thread in the body, and don't change
    /// the same key in it.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - body: changes the value; it may run several times. When it throws, nothing is set.
    /// - Returns: what the body returns.
    /// - Throws: the body's error; or a `DefaultsProblem` if the value can't be stored, the edit is refused, the agent ended
    ///   before it answered, or other programs kept changing the key for a minute.
    @discardableResult
    public func update<Value, Outcome>(
        _ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Outcome
    ) throws -> Outcome {
        let (outcome, stored) = try live.modifications.withLock { try commit(key, body) }
        // Handlers may do anything, and so are called without the lock.
        key.check(stored, in: self)
        postEdit(of: [key.name])
        return outcome
    }

    /// - Returns: what the body returned when its value was set, and the stored value that it was given.
    private func commit<Value, Outcome>(
        _ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Outcome
    ) throws -> (Outcome, PropertyListValue?) {
        var attempts = Attempts()
        while true {
            let old = ownValue(forKey: key.name)
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            let outcome = try body(&value)
            do throws(DefaultsError) {
                let new = try PropertyListValue(storing: value, forKey: key.name)
                try live.commit(domain, [key.name: new], expecting: [key.name: old])
                return (outcome, stored)
            } catch {
                guard Self.isWorthRepeating(error), attempts.pause() else {
                    throw DefaultsProblem(error.code == .invalidValue ? .value : .edit, error)
                }
            }
        }
    }

    /// Sets several keys as one change set: others see all of them at once, or none, and so does the file.
    ///
    /// ```swift
    /// defaults.transaction { values in
    ///     values[.quality] = 1
    ///     values[.theme] = .dark
    /// }
    /// ```
    ///
    /// The values that the body reads through its argument are checked: if the application's or the suite's domain has other
    /// values for these keys by then, the body runs again. A transaction that reads waits until it is saved, as
    /// `update(_:_:)` does; one that only sets doesn't wait. If the agent ends before it answers, and no other knows from its
    /// log whether the edit was made, the body runs again: a count may be raised twice. If the edit is refused, or other programs
    /// keep changing the keys for a minute, `onProblem` is told, and the values are set as any others.
    ///
    /// - Parameter body: sets the values; it reads those that it has set, and otherwise the current ones. It may run several
    ///   times. When it throws, nothing is set.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws.
    public func transaction<Outcome, Failure>(
        _ body: (inout DefaultsTransaction) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        var attempts = Attempts()
        while true {
            var transaction = DefaultsTransaction(self)
            let outcome = try body(&transaction)
            if transaction.values.isEmpty { return outcome }
            if transaction.hasRead {
                do throws(DefaultsError) {
                    try live.commit(domain, transaction.values, expecting: transaction.expected)
                    postEdit(of: transaction.values.keys)
                    return outcome
                } catch {
                    // It may have been made. To set the values as they are could undo what others have made of them since.
                    let isLost = error.code == .agentUnavailable
                    if isLost || Self.isWorthRepeating(error), attempts.pause() { continue }
                    ProblemHandler.report(DefaultsProblem(.edit, error))
                }
            }
            edit(transaction.values)
            return outcome
        }
    }

    /// Whether an edit failed only because another writer came first.
    private static func isWorthRepeating(_ error: DefaultsError) -> Bool {
        error.code == .changed || error.code == .locked
    }

    /// The value of a key in the application's or the suite's own domain.
    func ownValue(forKey key: String) -> PropertyListValue? { live.currentValues(of: domain)[key] }
}

/// The retries of a conditional edit, with backoff.
private struct Attempts {
    private var count = 0
    private let start = MonotonicTime.now()

    /// The timeout, in milliseconds.
    private static let limit: Int64 = 60_000

    /// Waits with a growing random delay, so that attempts that collided don't collide again.
    ///
    /// - Returns: false after the timeout.
    mutating func pause() -> Bool {
        guard start + Self.limit > .now() else { return false }
        usleep(UInt32.random(in: 0...min(100 << UInt32(min(count, 10)), 5_000)))
        count += 1
        return true
    }
}
