package import PropertyList

/// Turns what is stored into what is presented, and back if it can.
///
/// A transformer is a plain value; its closures are called on the actor of a binding, and must not wait. One for values
/// that are stored as data, such as archives, is made for `Data?` in the same way.
///
/// ```swift
/// let percent = DefaultsTransformer<Double, Int>(
///     present: { Int($0 * 100) },
///     store: { Double($0) / 100 })
/// ```
public struct DefaultsTransformer<Stored: DefaultsValue, Presented>: Sendable {
    /// Makes what is presented of what is stored.
    public let present: @Sendable (Stored) -> Presented
    /// Makes what is stored of what is presented; `nil` when there is no way back.
    public let store: (@Sendable (Presented) throws -> Stored)?
    /// Makes what is presented of a bound key's value, for which it can tell of problems, as `present` can't.
    package let presentBound: (@Sendable (Stored, PropertyListValue?, BoundKey) -> Presented)?

    /// Makes a transformer.
    ///
    /// - Parameters:
    ///   - present: makes what is presented.
    ///   - store: makes what is stored; an error is reported to `UserDefaults.onProblem`, and nothing is set. Without it a
    ///     bound property follows its key, and is never stored.
    public init(
        present: @escaping @Sendable (Stored) -> Presented, store: (@Sendable (Presented) throws -> Stored)? = nil
    ) {
        self.present = present
        self.store = store
        presentBound = nil
    }

    /// Makes a transformer that tells of values that it can make nothing of.
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
    /// True for false, and false for true, both ways.
    public static var negateBoolean: Self { Self(present: { !$0 }, store: { !$0 }) }
}

extension DefaultsTransformer where Stored: ExpressibleByNilLiteral, Presented == Bool {
    /// Whether there is no value; there is no way back.
    public static var isNil: Self { Self(present: { ($0 as? any OptionalValue)?.wrapped == nil }) }

    /// Whether there is a value; there is no way back.
    public static var isNotNil: Self { Self(present: { ($0 as? any OptionalValue)?.wrapped != nil }) }
}
