public import DefaultsKit
package import PropertyList

/// A conversion between the stored value and the value that a bound property presents.
///
/// It may work in only one direction, from stored to presented. A transformer is a plain value. Its closures are called
/// on the binding's actor, and must not block. For values stored as data, such as archives, make `Stored` a `Data?`.
///
/// ```swift
/// let percent = DefaultsTransformer<Double, Int>(
///     present: { Int($0 * 100) },
///     store: { Double($0) / 100 })
/// ```
public struct DefaultsTransformer<Stored: DefaultsValue, Presented>: Sendable {
    /// The conversion from a stored value to the presented one.
    public let present: @Sendable (Stored) -> Presented
    /// The conversion from a presented value to the stored one; `nil` for a one-way transformer.
    public let store: (@Sendable (Presented) throws -> Stored)?
    /// The conversion from a bound key's value to the presented one, which can report problems with it, unlike
    /// `present`.
    package let presentBound: (@Sendable (Stored, PropertyListValue?, BoundKey) -> Presented)?

    /// Creates a transformer.
    ///
    /// - Parameters:
    ///   - present: A closure that converts a stored value to the presented one.
    ///   - store: A closure that converts a presented value to the stored one. An error is reported to the handler of
    ///     `UserDefaults.setProblemHandler(_:)`, and nothing is set. Without this closure, a bound property only
    ///     follows its key.
    public init(
        present: @escaping @Sendable (Stored) -> Presented, store: (@Sendable (Presented) throws -> Stored)? = nil
    ) {
        self.present = present
        self.store = store
        presentBound = nil
    }

    /// Creates a transformer that reports unconvertible values.
    package init(
        present: @escaping @Sendable (Stored) -> Presented,
        presentBound: @escaping @Sendable (Stored, PropertyListValue?, BoundKey) -> Presented,
        store: @escaping @Sendable (Presented) throws -> Stored
    ) {
        self.present = present
        self.presentBound = presentBound
        self.store = store
    }
}

extension DefaultsTransformer where Stored == Bool, Presented == Bool {
    /// A transformer that presents false for true and true for false, in both directions.
    public static var negateBoolean: Self { Self(present: { !$0 }, store: { !$0 }) }
}

extension DefaultsTransformer where Stored: ExpressibleByNilLiteral, Presented == Bool {
    /// A one-way transformer that presents whether there is no value.
    public static var isNil: Self { Self(present: { ($0 as? any OptionalValue)?.wrapped == nil }) }

    /// A one-way transformer that presents whether there is a value.
    public static var isNotNil: Self { Self(present: { ($0 as? any OptionalValue)?.wrapped != nil }) }
}
