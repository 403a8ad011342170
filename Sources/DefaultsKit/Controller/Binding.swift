extension UserDefaultsController {
    /// A property of an object that is bound to a key: each follows the other for as long as this lives.
    ///
    /// It belongs to the actor that made it, as the object does: the property is read and set there only, and all calls
    /// are made there. It holds the object weakly, so that the object may keep it. It ends by `unbind()`, with its last
    /// reference, or when the object is gone.
    ///
    /// ```swift
    /// title = controller.bind(self, \.title, to: .title)
    /// ```
    public final class Binding {
        /// When an edit of the property goes to the controller.
        public enum Commit: Hashable, Sendable {
            /// By itself, if the property is observable (`@Observable`), and by `commit()`.
            case continuously
            /// By `commit()` alone.
            case onDemand
        }

        private let property: any BoundProperty
        private let observed: ObservedKeys
        private var task: Task<Void, Never>?

        init(_ property: some BoundProperty, _ observed: ObservedKeys) {
            self.property = property
            self.observed = observed
        }

        deinit { task?.cancel() }

        /// Begins to follow the key and the property, on the actor that it belongs to.
        func follow(isolation: isolated any Actor) {
            let wakeUp = observed.wakeUp
            task = Task { [weak self] in
                _ = isolation
                while await wakeUp.wait(isolation: isolation), let self, !Task.isCancelled {
                    if !self.property.synchronize() { self.unbind() }
                }
            }
        }

        /// Passes the property's value to the controller now, if it was edited.
        ///
        /// An edit of an observable property goes there by itself, on the actor's next turn; this need be called only for
        /// others, and before a `save()` that is to have an edit of the same turn. After `unbind()` it does nothing.
        public func commit() {
            if task != nil { property.commit() }
        }

        /// Ends the binding: the property and the key keep the values they have.
        ///
        /// A second call does nothing.
        public func unbind() {
            task?.cancel()
            task = nil
        }
    }
}
