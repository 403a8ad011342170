package import PropertyList

/// A key that a property is bound to, for a transformer that tells of values that it can make nothing of.
package final class BoundKey {
    private let name: String
    private let defaults: UserDefaults
    private var told: PropertyListValue?

    init(_ name: String, of defaults: UserDefaults) {
        self.name = name
        self.defaults = defaults
    }

    /// Tells of a value, once: it is presented anew at each `revert()`.
    ///
    /// - Parameters:
    ///   - value: the key's value.
    ///   - problem: what to tell, given what the key is called.
    package func report(_ value: PropertyListValue?, _ problem: (String) -> DefaultsProblem) {
        guard let value else { return ProblemHandler.report(problem("\"\(name)\"")) }
        if value == told { return }
        told = value
        ProblemHandler.report(problem(defaults.describe(name, having: value)))
    }
}
