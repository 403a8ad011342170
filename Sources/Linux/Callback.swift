/// A closure as the value of a generic type, such as a mutex.
///
/// A bare closure in a generic type would gain another thunk with each access, and be stored that way.
package struct Callback<Argument, Result>: Sendable {
    private let body: @Sendable (Argument) -> Result

    package init(_ body: @escaping @Sendable (Argument) -> Result) { self.body = body }

    /// Calls the closure.
    package func callAsFunction(_ argument: Argument) -> Result { body(argument) }
}
