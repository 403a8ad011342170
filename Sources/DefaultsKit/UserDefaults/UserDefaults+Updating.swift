import DefaultsCore
import Glibc
import PropertyList

extension UserDefaults {
    /// Changes a key's value by what it is, so that no change by another thread or process is lost.
    ///
    /// ```swift
    /// try defaults.update(.launches) { $0 += 1 }
    /// ```
    ///
    /// The value is set only if the application's or the suite's domain still holds for the key what the body was given, in
    /// the file and for every process. Else the body is called again with the value as it is then. Unlike a set, this waits
    /// until the change is in the file, for about a millisecond; do not call it from code that must not wait.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - body: changes the value; it may be called several times. When it throws, nothing is set.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws; or a `DefaultsProblem`, when the value can't be stored, the edit is refused, the agent
    ///   ended before it answered, or others have changed the key again and again for a minute.
    @discardableResult
    public func update<Value, Result>(_ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Result) throws
        -> Result
    {
        // Threads of one process needn't meet as others: each would undo the others' attempts.
        live.updates.lock()
        defer { live.updates.unlock() }
        var attempts = Attempts()
        while true {
            let old = ownValue(forKey: key.name)
            var value = key.read(propertyListValue(forKey: key.name))
            let result = try body(&value)
            do throws(DefaultsError) {
                let new = try PropertyListValue(storing: value, forKey: key.name)
                try commit([key.name: new], expecting: [key.name: old])
                return result
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
    /// What the body reads still holds when its values are set: the application's or the suite's domain has the same values
    /// for the keys that were read, in the file and for every process. Else the body is called again. A transaction that reads
    /// waits until its values are in the file, as `update(_:_:)` does; one that only sets doesn't wait. Where that can't be
    /// done, since the agent ended or the edit was refused, it is reported to `onProblem`, and the values are set as any others.
    ///
    /// - Parameter body: sets the values; it reads its own, and the others as they are. It may be called several times. When it
    ///   throws, nothing is set.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws.
    public func transaction<Result, Failure>(
        _ body: (inout DefaultsTransaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var attempts = Attempts()
        var isLocked = false
        defer { if isLocked { live.updates.unlock() } }
        while true {
            var transaction = DefaultsTransaction(self)
            let result = try body(&transaction)
            if transaction.values.isEmpty { return result }
            if transaction.hasRead {
                do throws(DefaultsError) {
                    try commit(transaction.values, expecting: transaction.expected)
                    return result
                } catch {
                    if Self.isWorthRepeating(error), attempts.pause() {
                        // As in an update, which it has turned out to be.
                        if !isLocked { live.updates.lock() }
                        isLocked = true
                        continue
                    }
                    ProblemHandler.report(DefaultsProblem(.edit, error))
                }
            }
            edit(transaction.values)
            return result
        }
    }

    /// Whether an edit wasn't made because others were quicker.
    private static func isWorthRepeating(_ error: DefaultsError) -> Bool {
        error.code == .changed || error.code == .locked
    }

    /// The value of a key in the application's or the suite's own domain.
    func ownValue(forKey key: String) -> PropertyListValue? { live.currentValues(of: domain)[key] }

    private func commit(_ values: Difference, expecting expected: Difference) throws(DefaultsError) {
        try live.commit(domain, values, expecting: expected)
        LocalEdits.post(LocalEdit(defaults: self, domain: domain.name.description, keys: values.keys))
    }
}

/// The attempts to change values that others change, too, and the pauses between them.
private struct Attempts {
    private var count = 0
    private let start = MonotonicTime.now()

    /// After so many milliseconds nothing more is tried.
    private static let limit: Int64 = 60_000

    /// Waits before the next attempt, longer each time and at random: those who failed together shouldn't try together.
    ///
    /// - Returns: false when the time is over.
    mutating func pause() -> Bool {
        guard start + Self.limit > .now() else { return false }
        usleep(UInt32.random(in: 0...min(100 << UInt32(min(count, 10)), 5_000)))
        count += 1
        return true
    }
}
