public import PropertyList

/// A type that a `DefaultsKey` may have.
///
/// The usual types conform: Booleans, numbers of every width, text, `Data`, `Date`, `URL`, `UUID`, `PropertyListValue`,
/// and `Optional`s, arrays, sets, dictionaries and ranges of them. For an enumeration with raw values, an option set, and any
/// `Codable` type, the conformance is free:
///
/// ```swift
/// enum Theme: String, DefaultsValue { case light, dark }
/// struct Window: Codable, DefaultsValue { var x = 0, y = 0 }
/// ```
///
/// A `Codable` value is stored as a native tree, which the `defaults` command can read and edit. Where a type has both a
/// raw value and `Codable`, the raw value is stored. JSON in a string or in data, as other libraries store such values, is
/// read as well.
///
/// The command stores a string for `defaults write app size 5`. So numbers and Booleans are read from strings as well,
/// and strings from numbers, but only from what is one as a whole: an `Int` is read from "5", not from "abc" or "5 cm",
/// where the classic `integer(forKey:)` would give 0 or 5. A value that can't be read is reported to
/// `UserDefaults.onProblem` once and left as it is; the key's default is used.
///
/// A type of your own tells both ways:
///
/// ```swift
/// extension Version: DefaultsValue {
///     init?(propertyListValue: PropertyListValue) {
///         guard let text = String(propertyListValue: propertyListValue) else { return nil }
///         self.init(text)
///     }
///     var propertyListValue: PropertyListValue? { .string(text) }
/// }
/// ```
public protocol DefaultsValue: PropertyListConvertible, Sendable {
    /// Reads what is stored; nil if that isn't a value of this type.
    ///
    /// It is called with what is stored only: when nothing is, the key's default is taken without it.
    init?(propertyListValue: PropertyListValue)
}
