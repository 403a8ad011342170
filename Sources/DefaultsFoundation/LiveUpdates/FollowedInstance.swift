import Foundation

/// One of Foundation's instances, and the names of the domains that it searches.
struct FollowedInstance: Sendable {
    /// The instance.
    ///
    /// Guarded by CFPreferences' own locks: it has no state beside the constant name of its suite, and all its calls go
    /// there. Foundation doesn't declare it Sendable, but documents that it may be used from any thread.
    nonisolated(unsafe) let defaults: Foundation.UserDefaults
    var names: Set<String>
}
