#if OVER_FOUNDATION
public import Foundation
public import PropertyList

extension UserDefaults {
    /// Changes a key's value based on its current value, without losing changes by other threads of this process.
    ///
    /// ```swift
    /// try defaults.update(.launches) { $0 += 1 }
    /// ```
    ///
    /// Other processes aren't excluded, since Foundation has no such call: another process's changes during this call
    /// may be overwritten. Nor are calls of Foundation's own `set(_:forKey:)` on other threads, nor, on Apple's
    /// systems, assignments to single keys there, such as `defaults[.quality] = 1`.
    ///
    /// Other threads' updates, transactions and in-place changes, such as `+=`, wait until this update ends. In the
    /// body, don't wait for another thread, and don't change the key in any other way, which the result would
    /// overwrite. On Apple's systems, Foundation calls observers of `didChangeNotification` within the update. An
    /// observer with a queue must not need a thread that waits for this update, such as the main thread.
    ///
    /// - Parameters:
    ///   - key: The key to update.
    ///   - body: A closure that changes the value. If it throws, nothing is set.
    /// - Returns: The body's result.
    /// - Throws: The body's error; or a `DefaultsProblem` if the value can't be stored.
    @discardableResult
    public func update<Value, Outcome>(
        _ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Outcome
    ) throws -> Outcome {
        let owner = owner(of: key.domain)
        guard owner === self else { return try owner.update(key, body) }
        let (outcome, stored) = try ModificationLock.withLock {
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            let outcome = try body(&value)
            do throws(UnstorableValue) {
                edit([key.name: try Self.storable(value, for: key)])
            } catch {
                throw DefaultsProblem(error, forKey: key.name)
            }
            return (outcome, stored)
        }
        // Handlers may run any code, so call them without the lock.
        key.check(stored, in: self)
        return outcome
    }

    /// The queue of the updates of tasks, which would wait for each other in any case.
    private static let calls = DispatchQueue(label: "DefaultsKit.UserDefaults.update")

    /// Does the same as the other form, but suspends the task instead of blocking a thread.
    ///
    /// The body runs on a thread of the system's pool, after those of earlier calls. If the task is canceled, the
    /// update is made nevertheless.
    @discardableResult
    public func update<Value, Outcome: Sendable>(
        _ key: DefaultsKey<Value>, _ body: @escaping @Sendable (inout Value) throws -> Outcome
    ) async throws -> Outcome {
        // Foundation's class is guarded by locks of its own, but isn't declared Sendable on all systems.
        nonisolated(unsafe) let defaults = self
        return try await withCheckedThrowingContinuation { continuation in
            Self.calls.async {
                continuation.resume(with: Result { try defaults.update(key, body) })
            }
        }
    }

    /// Does the same as the other form.
    public func store<Value>(_ value: Value, for key: DefaultsKey<Value>) async throws {
        // Foundation doesn't wait for the disk. The closure calls the other form, rather than this one again.
        let store: () throws -> Void = { try self.store(value, for: key) }
        try store()
    }

    /// Sets a key, or throws the reason why it can't be set.
    ///
    /// - Throws: A `DefaultsProblem` if the value can't be stored or isn't in the key's range.
    public func store<Value>(_ value: Value, for key: DefaultsKey<Value>) throws {
        do throws(UnstorableValue) {
            owner(of: key.domain).edit([key.name: try Self.storable(value, for: key)])
        } catch {
            throw DefaultsProblem(error, forKey: key.name)
        }
    }

    /// Sets several keys together.
    ///
    /// ```swift
    /// defaults.withTransaction { values in
    ///     values[.quality] = 1
    ///     values[.theme] = .dark
    /// }
    /// ```
    ///
    /// Among the calls of this module in this process, the transaction is one change: no update, transaction, in-place
    /// change or stream of several keys comes in between. Foundation's own calls, and other processes, may see some of
    /// the values before the others.
    ///
    /// Other threads' updates, transactions and in-place changes wait until this one ends. In the body, don't wait for
    /// another thread, nor in a handler of problems with its values; observers are called as in an update. An update or
    /// another transaction in the body is made immediately, and stays made if the body throws.
    ///
    /// - Parameter body: A closure that sets the values. Its reads return the value that it has set, or else the
    ///   current one. If it throws, nothing is set.
    /// - Returns: The body's result.
    /// - Throws: The body's error.
    public func withTransaction<Outcome, Failure>(
        _ body: (inout DefaultsTransaction) throws(Failure) -> Outcome
    ) throws(Failure) -> Outcome {
        ModificationLock.lock()
        defer { ModificationLock.unlock() }
        var transaction = DefaultsTransaction(self)
        let outcome = try body(&transaction)
        for (domain, values) in transaction.values { owner(of: domain).edit(values) }
        return outcome
    }
}

/// The values that a transaction reads and sets.
///
/// The body of `UserDefaults.withTransaction(_:)` receives a transaction, whose edits are made when the body returns.
public struct DefaultsTransaction: ~Copyable {
    private let defaults: UserDefaults
    /// The values set so far, by the domains of their keys; `nil` for a key to remove.
    fileprivate private(set) var values: [String?: [String: PropertyListValue?]] = [:]

    fileprivate init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    /// A typed key's value: the value set in this transaction, or else the current one.
    ///
    /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
    /// keeps its value.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get {
            let owner = defaults.owner(of: key.domain)
            return key.read(values[key.domain]?[key.name] ?? owner.propertyListValue(forKey: key.name), in: owner)
        }
        set {
            set(
                key.name, of: key.domain,
                Result { () throws(UnstorableValue) in
                    try UserDefaults.storable(newValue, for: key)
                })
        }
    }

    /// Returns a key's value: the value set in this transaction, or else the one that the search finds.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        values[nil]?[key] ?? defaults.propertyListValue(forKey: key)
    }

    /// Sets a key; `nil` removes it.
    ///
    /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
    /// keeps its value.
    public mutating func set(_ value: PropertyListValue?, forKey key: String) {
        set(key, of: nil, Result { () throws(UnstorableValue) in try UserDefaults.storable(value) })
    }

    /// Removes a key.
    public mutating func removeObject(forKey key: String) { set(nil, forKey: key) }

    private mutating func set(
        _ key: String, of domain: String?, _ value: Result<PropertyListValue?, UnstorableValue>
    ) {
        do throws(UnstorableValue) {
            values[domain, default: [:]][key] = .some(try value.get())
        } catch {
            UserDefaults.report(DefaultsProblem(error, forKey: key))
        }
    }
}
#endif
