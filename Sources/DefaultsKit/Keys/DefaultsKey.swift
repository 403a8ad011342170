/// A key with its type and its default, told once.
///
/// ```swift
/// extension DefaultsKey where Value == Double {
///     static var quality: Self { Self("quality", default: 0.8) }
/// }
/// enum Preferences {
///     static let name = DefaultsKey<String?>("name")
/// }
///
/// defaults[.quality] += 0.1
/// defaults[Preferences.name] = "Ada"
/// ```
///
/// A key is a plain value that any thread may use.
public struct DefaultsKey<Value: DefaultsValue>: Sendable {
    /// The key's name in the property list; any text will do, dots and "@" included.
    public let name: String

    private let makeDefault: @Sendable () -> Value

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - name: The key's name in the property list.
    ///   - default: What a read gives when the key has no value, or one that isn't a `Value`; evaluated at each such
    ///     read, so that it may depend on the moment.
    public init(_ name: String, default: @autoclosure @escaping @Sendable () -> Value) {
        self.name = name
        self.makeDefault = `default`
    }

    /// Makes a key whose value is nil when it isn't set; setting nil removes it.
    ///
    /// - Parameter name: The key's name in the property list.
    public init<Wrapped>(_ name: String) where Value == Wrapped? {
        self.init(name, default: nil)
    }

    /// What a read gives when the key has no value, or one that isn't a `Value`.
    public var defaultValue: Value { makeDefault() }
}
