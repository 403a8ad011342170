import CLinux

/// A child that a process has forked: it has its parent's memory, and of its parent's threads the one that forked.
///
/// During the fork nothing is done here that takes memory or a lock. It is done when the child first uses the library: most
/// children run another program at once.
enum ForkedChild {
    private struct Reference {
        weak var domains: LiveDomains?
    }

    /// The domains that start over in a child.
    private static let all = ForkSafeMutex<[ObjectIdentifier: Reference]>([:])

    /// Whether this is one that hasn't used the library yet: what it reads is as old as the fork.
    static var isFresh: Bool { linux_is_fresh_child() }

    /// Has domains start over in a child.
    static func add(_ domains: LiveDomains) {
        all.withLock { $0[ObjectIdentifier(domains)] = Reference(domains: domains) }
        linux_start_over_with { ForkedChild.startOver() }
    }

    /// Lets domains go.
    static func remove(_ domains: LiveDomains) {
        all.withLock { $0[ObjectIdentifier(domains)] = nil }
    }

    private static func startOver() {
        // Not under the lock, which who lets go of domains takes, too.
        for domains in all.withLock({ $0.values.map(\.domains) }) { domains?.startOver() }
    }
}
