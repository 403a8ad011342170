import DefaultsCore
public import FoundationEssentials
public import PropertyList

extension UserDefaults {
    /// A key's value as the search finds it.
    ///
    /// - Parameter key: the key.
    /// - Returns: the value; `nil` when no domain of the search list has the key.
    public func propertyListValue(forKey key: String) -> PropertyListValue? {
        if !live.isStale, case .value(let value) = list.find(key) { return value }
        live.search(list)
        if case .value(let value) = list.find(key) { return value }
        return nil
    }

    /// A key's value: a `String`, `Int`, `UInt64`, `Double`, `Float`, `Bool`, `Date`, `Data`, `[Any]` or `[String: Any]`.
    ///
    /// What an array or a dictionary holds is of these types too, and never an `Optional`.
    public func object(forKey key: String) -> Any? { propertyListValue(forKey: key)?.anyValue }

    /// A string; a number or a Boolean is read as its text.
    public func string(forKey key: String) -> String? { propertyListValue(forKey: key)?.coercedString }

    /// An array.
    public func array(forKey key: String) -> [Any]? {
        guard case .array? = propertyListValue(forKey: key) else { return nil }
        return object(forKey: key) as? [Any]
    }

    /// A dictionary.
    public func dictionary(forKey key: String) -> [String: Any]? {
        guard case .dictionary? = propertyListValue(forKey: key) else { return nil }
        return object(forKey: key) as? [String: Any]
    }

    /// Data.
    public func data(forKey key: String) -> Data? {
        guard case .data(let bytes)? = propertyListValue(forKey: key) else { return nil }
        return Data(bytes)
    }

    /// An array of strings; `nil` unless all its elements are strings.
    public func stringArray(forKey key: String) -> [String]? { propertyListValue(forKey: key)?.coercedStringArray }

    /// An integer; a real is cut towards zero, a string is read as far as it is a number, and what is none is 0.
    public func integer(forKey key: String) -> Int { propertyListValue(forKey: key)?.coercedInteger ?? 0 }

    /// A 32-bit real; what is no number is 0.
    public func float(forKey key: String) -> Float { propertyListValue(forKey: key)?.coercedFloat ?? 0 }

    /// A real; what is no number is 0.
    public func double(forKey key: String) -> Double { propertyListValue(forKey: key)?.coercedDouble ?? 0 }

    /// A Boolean; a number is true unless it is 0, and a string that begins with "t", "y" or a number other than 0.
    public func bool(forKey key: String) -> Bool { propertyListValue(forKey: key)?.coercedBool ?? false }

    /// A URL: a path, where "~" stands for the home directory, or what `set` made of another URL.
    public func url(forKey key: String) -> URL? { propertyListValue(forKey: key)?.url() }

    /// All keys that the search finds, with their values.
    public func dictionaryRepresentation() -> [String: Any] {
        values().mapValues(\.anyValue)
    }

    /// All keys that the search finds, with their values.
    public func values() -> [String: PropertyListValue] {
        if live.isStale || !list.hasSearched { live.search(list) }
        return list.values ?? [:]
    }

    /// Whether a key's value is forced by the system's administrator, so that setting it has no effect.
    public func objectIsForced(forKey key: String) -> Bool {
        live.search(list)
        guard case .persistent(let domain)? = live.holders(of: key, in: list).first?.layer else { return false }
        return domain.user == .managed
    }

    /// Whether a key's value is forced in a domain.
    public func objectIsForced(forKey key: String, inDomain domain: String) -> Bool {
        guard let name = try? DomainName(domain) else { return false }
        return live.currentValues(of: .managed(name))[key] != nil
    }
}
