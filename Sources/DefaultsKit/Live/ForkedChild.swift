import CLinux
import Linux

/// A forked child, which has its parent's memory, and of its parent's threads only the one that forked.
///
/// It starts over when it first uses the library, and not during the fork: most children run another program at once.
enum ForkedChild {
    private struct Reference {
        weak var domains: LiveDomains?
    }

    /// The domains that start over in a child.
    private static let all = ForkSafeMutex<[ObjectIdentifier: Reference]>([:])

    /// Whether this process is a child that hasn't started over, so that its values are as old as the fork.
    static var isFresh: Bool { linux_is_fresh_child() }

    /// Adds domains that start over in a child.
    static func add(_ domains: LiveDomains) {
        all.withLock { $0[ObjectIdentifier(domains)] = Reference(domains: domains) }
        linux_start_over_with { ForkedChild.startOver() }
    }

    /// Removes domains.
    static func remove(_ domains: LiveDomains) {
        all.withLock { $0[ObjectIdentifier(domains)] = nil }
    }

    private static func startOver() {
        // Not under the lock: the release of the last reference takes it, too.
        for domains in all.withLock({ $0.values.map(\.domains) }) { domains?.startOver() }
    }
}
