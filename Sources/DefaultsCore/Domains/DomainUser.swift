/// Whose a domain's values are: the current user's own, everybody's on this system, or forced on everybody.
package enum DomainUser: Hashable, Comparable, Sendable {
    /// The current user: the domain's file is in the preferences directory.
    case current
    /// Any user: the domain's file is in a system directory, whose absolute path this is.
    ///
    /// It is read-only here.
    case any(directory: String)
    /// Any user, and nobody may overrule it: the domain's file is in the managed directory.
    ///
    /// It is read-only here, and counts only where root alone can have written it.
    case managed
}
