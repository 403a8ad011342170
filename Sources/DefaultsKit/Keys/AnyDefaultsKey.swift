import DefaultsCore
import PropertyList

/// A key with its type erased, for arrays and sets of keys whose values are of different types.
///
/// ```swift
/// let appearance = [AnyDefaultsKey(Preferences.theme), AnyDefaultsKey(Preferences.fontSize)]
/// defaults.register(appearance)
/// for await values in defaults.updates(of: appearance) { redraw(values[Preferences.theme]) }
/// defaults.reset(appearance)
/// ```
///
/// Two are equal when their names and the types of their values are. The default isn't compared: it may differ at each
/// evaluation.
public struct AnyDefaultsKey: Sendable {
    /// The key's name in the property list.
    public let name: String
    /// The type of the key's values.
    public let valueType: any DefaultsValue.Type

    private let makeDefault: @Sendable () throws(DefaultsError) -> PropertyListValue?

    /// Erases a key's type.
    ///
    /// - Parameter key: the key.
    public init<Value>(_ key: DefaultsKey<Value>) {
        name = key.name
        valueType = Value.self
        makeDefault = { () throws(DefaultsError) in
            try PropertyListValue(storing: key.defaultValue, forKey: key.name)
        }
    }

    /// The key's default as it would be stored; `nil` when the default is `nil`.
    ///
    /// - Throws: `invalidValue`, when the default can't be stored.
    func storedDefault() throws(DefaultsError) -> PropertyListValue? { try makeDefault() }
}

extension AnyDefaultsKey: Hashable {
    /// Whether both have the same name and the same type.
    public static func == (first: AnyDefaultsKey, second: AnyDefaultsKey) -> Bool {
        first.name == second.name && first.valueType == second.valueType
    }

    /// Feeds the name and the type to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(ObjectIdentifier(valueType))
    }
}

extension DefaultsKey: Hashable {
    /// Whether both have the same name; their types are the same, and their defaults aren't compared.
    public static func == (first: DefaultsKey, second: DefaultsKey) -> Bool { first.name == second.name }

    /// Feeds the name to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
