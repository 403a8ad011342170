/// An `Optional` of any type, so that one can be looked through where only `Any` is known.
protocol OptionalValue {
    /// What is in it; nil if nothing is.
    var wrapped: Any? { get }
    /// The empty one.
    static var nothing: Self { get }
}

extension Optional: OptionalValue {
    var wrapped: Any? { map { $0 as Any } }
    static var nothing: Self { .none }
}
