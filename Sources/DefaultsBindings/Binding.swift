import DefaultsClient
package import DefaultsKit
package import PropertyList

extension UserDefaultsController {
    /// A binding between an object's property and a key, which follow each other as long as the binding exists.
    ///
    /// The binding, like the object, belongs to the actor that created it: the property is read and set only there, and
    /// all methods must be called there. The object is held weakly, so it may own its bindings. The binding ends on
    /// `unbind()`, when its last reference is released, or when the object is gone.
    ///
    /// ```swift
    /// title = controller.bind(self, \.title, to: .title)
    /// ```
    public final class Binding {
        /// The time at which an edit of the property goes to the controller.
        public enum Commit: Hashable, Sendable {
            /// On the actor's next turn, if the property is observable (`@Observable`), and on `commit()`.
            case continuously
            /// Only on `commit()`.
            case onDemand
        }

        private let property: any BoundProperty
        private let observed: ObservedKeys
        private var task: Task<Void, Never>?

        init(_ property: some BoundProperty, observing observed: ObservedKeys) {
            self.property = property
            self.observed = observed
        }

        deinit { task?.cancel() }

        /// Starts to follow the key and the property, on the actor that the binding belongs to.
        func follow(isolation: isolated any Actor) {
            let wakeUp = observed.wakeUp
            task = Task { [weak self] in
                _ = isolation
                while await wakeUp.wait(isolation: isolation), let self, !Task.isCancelled {
                    if !self.property.synchronize() { self.unbind() }
                }
            }
        }

        /// Immediately passes the property's value to the controller, if it was edited.
        ///
        /// Edits of an observable property are passed automatically on the actor's next turn. Call this method for
        /// other properties, and before a `save()` that must include an edit made in the same turn. It has no effect
        /// after `unbind()`.
        public func commit() {
            if task != nil { property.commit() }
        }

        /// Ends the binding; the property and the key retain their values.
        ///
        /// Further calls have no effect.
        public func unbind() {
            task?.cancel()
            task = nil
        }
    }
}

/// A key that a property is bound to, for transformers that report unconvertible values.
package final class BoundKey {
    private let name: String
    private let defaults: UserDefaults
    private var lastReported: PropertyListValue?

    init(_ name: String, of defaults: UserDefaults) {
        self.name = name
        self.defaults = defaults
    }

    /// Reports a problem with a value, unless that value was the last one reported, since each `revert()` presents it
    /// again.
    ///
    /// - Parameters:
    ///   - value: The key's value.
    ///   - problem: A closure that returns the problem, given the key's description.
    package func report(_ value: PropertyListValue?, _ problem: (String) -> DefaultsProblem) {
        guard let value else { return ProblemHandler.report(problem("\"\(name)\"")) }
        if value == lastReported { return }
        lastReported = value
        ProblemHandler.report(problem(defaults.describe(name, having: value)))
    }
}

/// A property of an object that is kept equal to a key.
protocol BoundProperty: AnyObject {
    /// Applies a change on one side to the other.
    ///
    /// - Returns: False when the object is gone.
    func synchronize() -> Bool

    /// Passes the property's value to the controller, if it was edited.
    func commit()
}
