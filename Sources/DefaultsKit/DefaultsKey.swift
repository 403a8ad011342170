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
/// A key that has a domain is read and set there, whatever instance it is used with, as if by
/// `UserDefaults(suiteName:)`. So the key of another program's preferences, or one that a manifest describes, can't be
/// set in the wrong place:
///
/// ```swift
/// let theme = DefaultsKey("theme", default: "light", domain: "org.example.editor")
/// UserDefaults.standard[theme] = "dark"  // in org.example.editor
/// ```
///
/// Observation tracks the keys of at most 64 such domains for each instance. If a program has more, for example one
/// for each of its users, create an instance for each; reads and edits are also faster then.
///
/// A transaction, a controller and a stream of several keys have one domain. A key of another one is reported to the
/// handler of `UserDefaults.setProblemHandler(_:)`; it reads as its default, and isn't set.
///
/// A key is a plain value that any thread may use.
public struct DefaultsKey<Value: DefaultsValue>: Sendable {
    /// The key's name in the property list, which may be any text, including dots and "@".
    public let name: String
    /// The name of the domain that has the key; `nil` for the domain of the instance that the key is used with.
    public let domain: String?

    private let makeDefault: @Sendable () -> Value
    /// The values that the key may be set to; `nil` for all.
    private let range: KeyRange<Value>?

    private init(
        _ name: String, in range: KeyRange<Value>?, domain: String?, default: @escaping @Sendable () -> Value
    ) {
        self.name = name
        self.domain = domain
        self.range = range
        self.makeDefault = `default`
    }

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - name: The key's name in the property list.
    ///   - default: The value to return if the key has no value, or a value that isn't a `Value`. It is evaluated for
    ///     each such read, so it may depend on the time.
    ///   - domain: The name of the domain that has the key; `nil` for that of the instance that the key is used with.
    public init(_ name: String, default: @autoclosure @escaping @Sendable () -> Value, domain: String? = nil) {
        self.init(name, in: nil, domain: domain, default: `default`)
    }

    /// Creates a key whose value is `nil` when it isn't set; setting it to `nil` removes it.
    ///
    /// - Parameters:
    ///   - name: The key's name in the property list.
    ///   - domain: The name of the domain that has the key; `nil` for that of the instance that the key is used with.
    public init<Wrapped>(_ name: String, domain: String? = nil) where Value == Wrapped? {
        self.init(name, in: nil, domain: domain) { nil }
    }

    /// Creates a key that can only be set to the values in a range.
    ///
    /// Every typed call refuses other values. A value that is outside the range because another program set it is read
    /// as it is.
    ///
    /// ```swift
    /// static var fontSize: Self { Self("fontSize", default: 12, in: 6...72) }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The key's name in the property list.
    ///   - default: The value to return if the key has no value, or a value that isn't a `Value`. It is evaluated for
    ///     each such read, so it may depend on the time.
    ///   - range: The values that the key may be set to.
    ///   - domain: The name of the domain that has the key; `nil` for that of the instance that the key is used with.
    public init<Allowed: RangeExpression & Sendable>(
        _ name: String, default: @autoclosure @escaping @Sendable () -> Value, in range: Allowed, domain: String? = nil
    ) where Allowed.Bound == Value {
        self.init(name, in: KeyRange(range), domain: domain, default: `default`)
    }

    /// Creates a key that can only be set to the values in a range, or to `nil`, which removes it.
    ///
    /// - Parameters:
    ///   - name: The key's name in the property list.
    ///   - range: The values that the key may be set to.
    ///   - domain: The name of the domain that has the key; `nil` for that of the instance that the key is used with.
    public init<Wrapped, Allowed: RangeExpression & Sendable>(
        _ name: String, in range: Allowed, domain: String? = nil
    ) where Value == Wrapped?, Allowed.Bound == Wrapped {
        self.init(name, in: KeyRange(orNil: range), domain: domain) { nil }
    }

    /// The value to return if the key has no value, or a value that isn't a `Value`.
    public var defaultValue: Value {
        #if OVER_FOUNDATION
        makeDefault()
        #else
        OpenTransaction.outside(makeDefault)
        #endif
    }

    /// Converts a new value; the result is `nil` if the key is to be removed.
    ///
    /// - Throws: An error if the value isn't in the key's range or can't be stored.
    func stored(_ value: Value) throws(UnstorableValue) -> PropertyListValue? {
        if let range, !range.contains(value) { throw .outside(range.description) }
        return try PropertyListValue.stored(value)
    }
}

/// The values that a key may be set to.
private struct KeyRange<Value: Sendable>: Sendable {
    let contains: @Sendable (Value) -> Bool
    /// The range in words, such as "6 to 72".
    let description: String

    init<Allowed: RangeExpression & Sendable>(_ range: Allowed) where Allowed.Bound == Value {
        contains = { range.contains($0) }
        description = Self.describe(range)
    }

    init<Allowed: RangeExpression & Sendable>(orNil range: Allowed) where Value == Allowed.Bound? {
        contains = { $0.map(range.contains) ?? true }
        description = Self.describe(range)
    }

    private static func describe<Allowed: RangeExpression>(_ range: Allowed) -> String {
        switch range {
        case let range as ClosedRange<Allowed.Bound>: "\(range.lowerBound) to \(range.upperBound)"
        case let range as PartialRangeFrom<Allowed.Bound>: "at least \(range.lowerBound)"
        case let range as PartialRangeThrough<Allowed.Bound>: "at most \(range.upperBound)"
        case let range as PartialRangeUpTo<Allowed.Bound>: "less than \(range.upperBound)"
        case let range as Range<Allowed.Bound>: "at least \(range.lowerBound) and less than \(range.upperBound)"
        default: "in \(range)"
        }
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
/// Two keys are equal if their names, domains and value types are. Defaults aren't compared, since each evaluation may
/// give a different value.
public struct AnyDefaultsKey: Sendable {
    /// The key's name in the property list.
    public let name: String
    /// The name of the domain that has the key; `nil` for the domain of the instance that the key is used with.
    public let domain: String?
    /// The type of the key's values.
    public let valueType: any DefaultsValue.Type

    private let makeDefault: @Sendable () throws(UnstorableValue) -> PropertyListValue?

    /// Erases a key's type.
    ///
    /// - Parameter key: The typed key.
    public init<Value>(_ key: DefaultsKey<Value>) {
        name = key.name
        domain = key.domain
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
    /// Returns whether both keys have the same name, domain and value type.
    public static func == (first: AnyDefaultsKey, second: AnyDefaultsKey) -> Bool {
        first.name == second.name && first.domain == second.domain && first.valueType == second.valueType
    }

    /// Hashes the name, the domain and the value type.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(domain)
        hasher.combine(ObjectIdentifier(valueType))
    }
}

extension DefaultsKey: Hashable {
    /// Returns whether both keys have the same name and domain; defaults and ranges aren't compared.
    public static func == (first: DefaultsKey, second: DefaultsKey) -> Bool {
        first.name == second.name && first.domain == second.domain
    }

    /// Hashes the name and the domain.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(domain)
    }
}
