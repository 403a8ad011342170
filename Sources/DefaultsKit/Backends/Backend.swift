package import DefaultsCore

/// Where preferences are read and written: at the agent, or in an embedded store on the same files.
///
/// Calls are synchronous and made by one thread at a time.
package protocol Backend: AnyObject {
    /// The directories of the system's whose domains it has beside the user's.
    var system: SystemDirectories { get }
    /// A domain's values in force; the newest there are.
    func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot
    /// The current user's domains that have values or are damaged, in order.
    func domains() throws(DefaultsError) -> [Domain]
    /// The current user's domains that have values or are damaged, as they are now, in order.
    func snapshots() throws(DefaultsError) -> [DomainSnapshot]
    /// Sets and removes keys, as one change set, which is in force when the call returns and durable after `synchronize`.
    ///
    /// - Parameters:
    ///   - domain: whose keys.
    ///   - values: what they are to hold.
    ///   - replacesAll: whether all other keys are removed.
    ///   - expected: what keys must hold for anything to be done, as they were read before; `nil` for no condition.
    /// - Throws: `changed` when they hold something else by now: read them again, and try again.
    func edit(
        _ domain: Domain, _ values: Difference, replacesAll: Bool, expecting expected: Difference?
    ) throws(DefaultsError)
    /// Returns when all edits made before of a domain are durable, and all that others did before is visible.
    ///
    /// - Throws: `notSaved` when some can't be; they are kept, as far as this process lives or an agent does.
    func synchronize(_ domain: Domain) throws(DefaultsError)
}

extension Backend {
    /// Sets and removes keys, whatever they hold.
    package func edit(_ domain: Domain, _ values: Difference, replacesAll: Bool) throws(DefaultsError) {
        try edit(domain, values, replacesAll: replacesAll, expecting: nil)
    }
}
