/// How a version of a domain's file came to be, and what became of it.
package enum VersionOrigin: Sendable {
    /// A store published it, and had merged it with what was there.
    case published
    /// A foreign writer wrote it, and all of it came into force.
    case written
    /// A foreign writer wrote it, and not all of it came into force: its writer knew less than the store, and may still.
    case overruled
}
