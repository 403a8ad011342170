public import PropertyList

/// A type whose values can be stored, even through the classic API, which takes `Any`.
///
/// `UserDefaults.set(_:forKey:)` accepts any value of such a type, at any depth. Types that typed keys can also read
/// conform to `DefaultsValue`, which inherits from this protocol. Conform to this protocol alone if reading a value
/// back makes no sense, or if the type isn't `Sendable`:
///
/// ```swift
/// extension Selection: PropertyListConvertible {
///     var propertyListValue: PropertyListValue? { isEmpty ? nil : .string(text) }
/// }
/// ```
public protocol PropertyListConvertible {
    /// The value to store; `nil` if there is none.
    ///
    /// For `nil`, a key is removed, and a dictionary's entry is left out. In an array, `nil` is an error with the `Any`
    /// API; a typed array stores the string "$null" in its place.
    ///
    /// A conforming type whose values can always be stored declares the property without `throws`. An error is reported
    /// by the operation that was to store the value, and nothing is stored.
    var propertyListValue: PropertyListValue? { get throws }
}

/// An array of any element type.
///
/// A cast to `[Any]` would also accept Foundation's `NSArray`, and lose the types of its elements. DefaultsFoundation
/// makes that class conform to this protocol instead.
package protocol ElementsInOrder {
    /// The elements.
    var elements: [Any] { get }
}

extension Array: ElementsInOrder {
    package var elements: [Any] { self }
}

extension ArraySlice: ElementsInOrder {
    package var elements: [Any] { Array(self) }
}

extension ContiguousArray: ElementsInOrder {
    package var elements: [Any] { Array(self) }
}

/// A dictionary of any key and value type; DefaultsFoundation makes `NSDictionary` conform.
package protocol EntriesByKey {
    /// The entries; `nil` unless all keys are strings.
    var entries: [String: Any]? { get }
}

extension Dictionary: EntriesByKey {
    package var entries: [String: Any]? {
        if Key.self == String.self { return self as? [String: Any] }
        guard Key.self == AnyHashable.self else { return nil }
        var entries: [String: Any] = [:]
        for (key, value) in self {
            guard let text = AnyHashable(key).base as? String else { return nil }
            entries[text] = value
        }
        return entries
    }
}

/// An `Optional` of any type, for unwrapping a value of the static type `Any`.
package protocol OptionalValue {
    /// The wrapped value; `nil` if there is none.
    var wrapped: Any? { get }
    /// The value `nil`.
    static var nothing: Self { get }
}

extension Optional: OptionalValue {
    package var wrapped: Any? { map { $0 as Any } }
    package static var nothing: Self { .none }
}
