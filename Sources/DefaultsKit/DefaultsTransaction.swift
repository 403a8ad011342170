#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
public import PropertyList

/// The values that a transaction reads and sets.
///
/// The body of `UserDefaults.withTransaction(_:)` or `UserDefaults.store(_:)` receives a transaction, whose edits are
/// made as one change set when the body returns.
public struct DefaultsTransaction: ~Copyable {
    private let defaults: UserDefaults
    private let open: OpenTransaction

    init(_ defaults: UserDefaults, in open: OpenTransaction) {
        self.defaults = defaults
        self.open = open
    }

    /// A typed key's value: the value set in this transaction, or else the current one.
    ///
    /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
    /// keeps its value; in `store(_:)`, that throws.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get {
            if let problem = defaults.problem(with: key) {
                refuse(problem)
                return key.defaultValue
            }
            return key.read(propertyListValue(forKey: key.name), in: defaults)
        }
        set {
            if let problem = defaults.problem(with: key) {
                refuse(problem)
                return
            }
            set(key.name, Result { () throws(DefaultsError) in try PropertyListValue(storing: newValue, for: key) })
        }
    }

    /// Returns a key's value: the value set in this transaction, or else the one that the search finds.
    ///
    /// For a key that the transaction has removed, that is the value in the other domains.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        if let value = open.values[key] { return value ?? defaults.valueBeneath(key) }
        // Record the value before the search, so that a change in between makes the edit fail instead of going
        // unnoticed.
        open.read(key)
        return defaults.propertyListValue(forKey: key)
    }

    /// Returns a key's value in the transaction's domain alone.
    func ownValue(forKey key: String) -> PropertyListValue? {
        if let value = open.values[key] { return value }
        open.read(key)
        return open.expected[key] ?? nil
    }

    /// Sets a key; `nil` removes it.
    ///
    /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
    /// keeps its value.
    public mutating func set(_ value: PropertyListValue?, forKey key: String) {
        set(key, Result { () throws(DefaultsError) in try PropertyListValue(storing: value, forKey: key) })
    }

    private mutating func set(_ key: String, _ value: Result<PropertyListValue?, DefaultsError>) {
        do throws(DefaultsError) {
            try open.set(try value.get(), forKey: key)
        } catch {
            if !open.willThrow(error) { ProblemHandler.report(DefaultsProblem(refusal: error)) }
        }
    }

    private func refuse(_ problem: DefaultsProblem) {
        if !open.willThrow(problem) { ProblemHandler.report(problem) }
    }

    /// Removes a key.
    public mutating func removeObject(forKey key: String) { set(nil, forKey: key) }

    /// Changes a key's value based on its current value.
    ///
    /// - Returns: The body's result, and the stored value that the key had.
    func update<Value, Outcome>(
        _ key: DefaultsKey<Value>, _ body: (inout Value) throws -> Outcome
    ) throws -> (Outcome, PropertyListValue?) {
        do {
            try open.checkNotUpdating(key.name)
            let stored = propertyListValue(forKey: key.name)
            var value = key.convert(stored) ?? key.defaultValue
            let outcome = try open.update(key.name) { try body(&value) }
            try open.set(try PropertyListValue(storing: value, for: key), forKey: key.name)
            return (outcome, stored)
        } catch let error as DefaultsError {
            throw DefaultsProblem(refusal: error)
        }
    }
}
#endif
