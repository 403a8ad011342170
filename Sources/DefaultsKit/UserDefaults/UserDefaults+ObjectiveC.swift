import DefaultsCore

/// The calls that code from Apple's systems makes on every object, and so on its user defaults.
extension UserDefaults {
    /// A key's value, as `object(forKey:)` gives it: key-value coding's spelling, which Foundation on Linux hasn't.
    public func value(forKey key: String) -> Any? { object(forKey: key) }

    /// Sets a key, as `set(_:forKey:)` does; `nil` removes it.
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }

    /// Whether an object is this same instance.
    public func isEqual(_ object: Any?) -> Bool { object as? UserDefaults === self }
}

extension UserDefaults: CustomStringConvertible {
    /// The class, and the name of the application's or the suite's domain: `<UserDefaults: org.example.app>`.
    public var description: String { "<UserDefaults: \(domain.name)>" }
}
