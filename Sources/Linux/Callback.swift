/// A closure as the value of a generic type, such as a mutex.
///
/// Each read and write of a bare closure in a generic type wraps it in another thunk; this type is wrapped only once.
package struct Callback<Argument, Result>: Sendable {
    private let body: @Sendable (Argument) -> Result

    package init(_ body: @escaping @Sendable (Argument) -> Result) { self.body = body }

    /// Calls the closure.
    package func callAsFunction(_ argument: Argument) -> Result { body(argument) }
}
