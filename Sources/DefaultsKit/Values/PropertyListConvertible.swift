public import PropertyList

/// A type whose values can be stored, also through the classic API that takes `Any`.
///
/// `UserDefaults.set(_:forKey:)` accepts any value of such a type, at any depth. Types that are read back by typed keys
/// conform to `DefaultsValue`, which inherits from this; conform to this one alone where reading back makes no sense, or
/// where a type isn't `Sendable`:
///
/// ```swift
/// extension Selection: PropertyListConvertible {
///     var propertyListValue: PropertyListValue? { isEmpty ? nil : .string(text) }
/// }
/// ```
public protocol PropertyListConvertible {
    /// The value to store; nil to say that there is none.
    ///
    /// With nil a key is removed, and a dictionary's entry left out. In an array, nil is an error on the `Any` API; a
    /// typed array keeps the string "$null" in its place.
    ///
    /// A conforming type whose values can all be stored declares it without `throws`. An error is reported where the
    /// value was to be stored, and nothing is stored.
    var propertyListValue: PropertyListValue? { get throws }
}
