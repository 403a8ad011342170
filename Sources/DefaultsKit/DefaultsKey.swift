import PropertyList

#if !OVER_FOUNDATION
import DefaultsClient
#endif

/// A key of the preferences: its name, the type of its values, and its default, declared in one place.
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
    /// The key's name in the property list, which may be any text, including dots and "@".
    public let name: String

    private let makeDefault: @Sendable () -> Value

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - name: The key's name in the property list.
    ///   - default: The value to return if the key has no value, or a value that isn't a `Value`. It is evaluated for
    ///     each such read, so it may depend on the time.
    public init(_ name: String, default: @autoclosure @escaping @Sendable () -> Value) {
        self.name = name
        self.makeDefault = `default`
    }

    /// Creates a key whose value is `nil` when it isn't set; setting it to `nil` removes it.
    ///
    /// - Parameter name: The key's name in the property list.
    public init<Wrapped>(_ name: String) where Value == Wrapped? {
        self.init(name, default: nil)
    }

    /// The value to return if the key has no value, or a value that isn't a `Value`.
    public var defaultValue: Value {
        #if OVER_FOUNDATION
        makeDefault()
        #else
        OpenTransaction.outside(makeDefault)
        #endif
    }
}

/// A key with its type erased, for arrays and sets of keys whose values have different types.
///
/// ```swift
/// let appearance = [AnyDefaultsKey(Preferences.theme), AnyDefaultsKey(Preferences.fontSize)]
/// defaults.register(appearance)
/// for await values in defaults.updates(of: appearance) { redraw(values[Preferences.theme]) }
/// defaults.reset(appearance)
/// ```
///
/// Two keys are equal if their names and value types are. Defaults aren't compared, since each evaluation may give a
/// different value.
public struct AnyDefaultsKey: Sendable {
    /// The key's name in the property list.
    public let name: String
    /// The type of the key's values.
    public let valueType: any DefaultsValue.Type

    private let makeDefault: @Sendable () throws(UnstorableValue) -> PropertyListValue?

    /// Erases a key's type.
    ///
    /// - Parameter key: The typed key.
    public init<Value>(_ key: DefaultsKey<Value>) {
        name = key.name
        valueType = Value.self
        makeDefault = { () throws(UnstorableValue) in
            try PropertyListValue.stored(key.defaultValue)
        }
    }

    /// Returns the key's default as it would be stored; `nil` when the default is `nil`.
    ///
    /// - Throws: An error if the default can't be stored.
    func storedDefault() throws(UnstorableValue) -> PropertyListValue? { try makeDefault() }
}

extension AnyDefaultsKey: Hashable {
    /// Returns whether both keys have the same name and value type.
    public static func == (first: AnyDefaultsKey, second: AnyDefaultsKey) -> Bool {
        first.name == second.name && first.valueType == second.valueType
    }

    /// Hashes the name and the value type.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(ObjectIdentifier(valueType))
    }
}

extension DefaultsKey: Hashable {
    /// Returns whether both keys have the same name; defaults aren't compared.
    public static func == (first: DefaultsKey, second: DefaultsKey) -> Bool { first.name == second.name }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
