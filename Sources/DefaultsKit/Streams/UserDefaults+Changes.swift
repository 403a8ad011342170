import DefaultsCore

extension UserDefaults {
    /// Which domains are followed.
    public enum ChangeScope: Hashable, Sendable {
        /// The application's or the suite's own.
        case application
        /// Those of a name.
        case domain(String)
        /// All that are searched.
        case searchList
    }

    /// Follows domains: every change set by anyone, in order, with the old and the new value of each key.
    ///
    /// A change set is reported even if a domain before it in the search list hides the values. The name of a domain that is in
    /// no file is reported to `onProblem`, and its stream stays empty.
    ///
    /// ```swift
    /// for await case .change(let change) in defaults.changes(in: .application) {
    ///     for key in change.keys { print(key.name, key.old as Any, key.new as Any, change.source) }
    /// }
    /// ```
    public func changes(in scope: ChangeScope) -> DefaultsChanges {
        switch scope {
        case .application: return DefaultsChanges(live, [domain.name])
        case .searchList: return DefaultsChanges(live, Set(live.names(of: list)))
        case .domain(let text):
            guard let suite = suite(named: text) else { return DefaultsChanges(live, []) }
            return DefaultsChanges(suite.live, [suite.name])
        }
    }
}
