import DefaultsClient
import DefaultsCore
public import PropertyList

/// The values that a transaction reads and sets.
///
/// The body of `UserDefaults.withTransaction(_:)` receives a transaction, whose edits are made as one change set when
/// the body returns.
public struct DefaultsTransaction {
    private let defaults: UserDefaults
    private(set) var values = Difference()
    private let reads = Reads()

    /// The values that the edited domain had for the keys read so far; `nil` for no value.
    private final class Reads {
        var expected = Difference()
    }

    init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    /// Whether the body read a key that it hadn't set itself.
    var hasRead: Bool { !reads.expected.isEmpty }

    /// The values that the domain must still have, by key; `nil` for no value.
    var expected: Difference { reads.expected }

    /// A typed key's value: the value set in this transaction, or else the current one.
    ///
    /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
    /// keeps its value.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get { key.read(propertyListValue(forKey: key.name), in: defaults) }
        set {
            store(newValue, forKey: key.name)
        }
    }

    /// Returns a key's value: the value set in this transaction, or else the one that the search finds.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        if let value = values[key] { return value }
        // Record the value before the search, so that a change in between makes the edit fail instead of going
        // unnoticed.
        if reads.expected[key] == nil { reads.expected[key] = .some(defaults.ownValue(forKey: key)) }
        return defaults.propertyListValue(forKey: key)
    }

    /// Sets a key; `nil` removes it.
    ///
    /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
    /// keeps its value.
    public mutating func set(_ value: PropertyListValue?, forKey key: String) { store(value, forKey: key) }

    private mutating func store(_ value: some PropertyListConvertible, forKey key: String) {
        do throws(DefaultsError) {
            let value = try PropertyListValue(storing: value, forKey: key)
            try EditRequest.check(key, value, for: defaults.domain)
            values[key] = .some(value)
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, error))
        }
    }

    /// Removes a key.
    public mutating func removeObject(forKey key: String) {
        values[key] = .some(nil)
    }
}
