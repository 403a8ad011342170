import DefaultsCore
public import PropertyList

/// The values that `UserDefaults.transaction` is about to set.
public struct DefaultsTransaction {
    private let defaults: UserDefaults
    private(set) var values = Difference()
    private let reads = Reads()

    /// The values that the edited domain had for the keys that were read; `nil` for none.
    private final class Reads {
        var expected = Difference()
    }

    init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    /// Whether something was read that the transaction hasn't set itself.
    var hasRead: Bool { !reads.expected.isEmpty }

    /// The values that the domain must still hold, `nil` for none.
    var expected: Difference { reads.expected }

    /// A typed key's value: as it was set here, or as it is.
    ///
    /// A value that can't be stored is reported to `UserDefaults.onProblem`, and the key left as it is.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get { key.read(propertyListValue(forKey: key.name), in: defaults) }
        set {
            do throws(DefaultsError) {
                values[key.name] = .some(try PropertyListValue(storing: newValue, forKey: key.name))
            } catch {
                ProblemHandler.report(DefaultsProblem(.value, error))
            }
        }
    }

    /// A key's value: as it was set here, or as the search finds it.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        if let value = values[key] { return value }
        // Before the search, so that a change in between makes the edit fail instead of being missed.
        if reads.expected[key] == nil { reads.expected[key] = .some(defaults.ownValue(forKey: key)) }
        return defaults.propertyListValue(forKey: key)
    }

    /// Sets a key; `nil` removes it.
    public mutating func set(_ value: PropertyListValue?, forKey key: String) {
        do throws(DefaultsError) {
            values[key] = .some(try PropertyListValue(storing: value, forKey: key))
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, error))
        }
    }

    /// Removes a key.
    public mutating func removeObject(forKey key: String) {
        values[key] = .some(nil)
    }
}
