package import DefaultsCore

/// Where preferences are read and written: at the agent, or in an embedded store on the same files.
///
/// Calls are synchronous and made by one thread at a time.
package protocol Backend: AnyObject {
    /// The directories of the system's whose domains it has beside the user's.
    var system: SystemDirectories { get }
    /// A domain's values in force; the newest there are.
    func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot
    /// The domains that have values, in order.
    func domains() throws(DefaultsError) -> [Domain]
    /// Sets and removes keys, as one change set, which is in force when the call returns and durable after `synchronize`.
    func edit(_ domain: Domain, _ values: Difference, replacesAll: Bool) throws(DefaultsError)
    /// Returns when all edits made before of a domain are durable, and all that others did before is visible.
    ///
    /// - Throws: `notSaved` when some can't be; they are kept, as far as this process lives or an agent does.
    func synchronize(_ domain: Domain) throws(DefaultsError)
}
