import DefaultsCore

/// Methods that every object has on Apple's systems.
extension UserDefaults {
    /// The value of a key, as `object(forKey:)` returns it (key-value coding; Foundation on Linux lacks it).
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
