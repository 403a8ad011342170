#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
public import FoundationEssentials
public import PropertyList

extension UserDefaults {
    /// Returns a key's value as the search finds it.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value; `nil` when no domain of the search list has the key.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        if !client.isStale, case .value(let value) = list.find(key) { return value }
        client.search(list)
        if case .value(let value) = list.find(key) { return value }
        return nil
    }

    /// Returns a key's value as a native Swift type.
    ///
    /// The type is `String`, `Int`, `UInt64`, `Double`, `Float`, `Bool`, `Date`, `Data`, `[Any]` or `[String: Any]`.
    /// The elements of an array or a dictionary have these types, too, and are never `Optional`.
    public func object(forKey key: String) -> Any? { propertyListValue(forKey: key)?.anyValue }

    /// Returns a key's value as a string; a number or a Boolean is converted to its text.
    public func string(forKey key: String) -> String? { propertyListValue(forKey: key)?.coercedString }

    /// Returns a key's value as an array; `nil` when it is something else.
    public func array(forKey key: String) -> [Any]? {
        guard case .array? = propertyListValue(forKey: key) else { return nil }
        return object(forKey: key) as? [Any]
    }

    /// Returns a key's value as a dictionary; `nil` when it is something else.
    public func dictionary(forKey key: String) -> [String: Any]? {
        guard case .dictionary? = propertyListValue(forKey: key) else { return nil }
        return object(forKey: key) as? [String: Any]
    }

    /// Returns a key's value as data; `nil` when it is something else.
    public func data(forKey key: String) -> Data? {
        guard case .data(let bytes)? = propertyListValue(forKey: key) else { return nil }
        return Data(bytes)
    }

    /// Returns a key's value as an array of strings; `nil` unless all its elements are strings.
    public func stringArray(forKey key: String) -> [String]? { propertyListValue(forKey: key)?.coercedStringArray }

    /// Returns a key's value as an integer, or 0.
    ///
    /// A real is truncated toward zero. A string gives the number that it begins with.
    public func integer(forKey key: String) -> Int { propertyListValue(forKey: key)?.coercedInteger ?? 0 }

    /// Returns a key's value as a 32-bit real, or 0.
    ///
    /// A string gives the number that it begins with.
    public func float(forKey key: String) -> Float { propertyListValue(forKey: key)?.coercedFloat ?? 0 }

    /// Returns a key's value as a real, or 0.
    ///
    /// A string gives the number that it begins with.
    public func double(forKey key: String) -> Double { propertyListValue(forKey: key)?.coercedDouble ?? 0 }

    /// Returns a key's value as a Boolean, or false.
    ///
    /// A number is true unless it is 0. A string is true if it begins with "t", "y" (in either case) or a whole number
    /// other than 0.
    public func bool(forKey key: String) -> Bool { propertyListValue(forKey: key)?.coercedBool ?? false }

    /// Returns a key's value as a URL; `nil` when it can't be one.
    ///
    /// A string is a path, in which "~" stands for the home directory, or a URL with "scheme://". Data is a URL that
    /// `set(_:forKey:)` archived.
    public func url(forKey key: String) -> URL? { propertyListValue(forKey: key)?.url() }

    /// Returns all keys that the search finds, with their values as native Swift types.
    public func dictionaryRepresentation() -> [String: Any] {
        values().mapValues(\.anyValue)
    }

    /// Returns all keys that the search finds, with their values.
    public func values() -> [String: PropertyListValue] {
        if client.isStale || !list.hasSearched { client.search(list) }
        return list.values ?? [:]
    }

    /// Returns the values of some keys at one moment.
    func values(forKeys keys: [String]) -> [PropertyListValue?] {
        if client.isStale || !list.hasSearched { client.search(list) }
        return list.find(keys)
    }

    /// Returns whether the administrator forces a key's value, so that setting the key has no effect.
    public func objectIsForced(forKey key: String) -> Bool {
        client.search(list)
        guard case .persistent(let domain)? = client.holders(of: key, in: list).first?.layer else { return false }
        return domain.user == .managed
    }

    /// Returns whether the administrator forces a key's value in a domain.
    ///
    /// The name is that of a suite, as in `UserDefaults(suiteName:)`.
    public func objectIsForced(forKey key: String, inDomain domain: String) -> Bool {
        guard let suite = try? resolveSuite(named: domain) else { return false }
        return suite.client.currentValues(of: .managed(suite.name))[key] != nil
    }
}
#endif
