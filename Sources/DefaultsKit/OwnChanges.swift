#if !OVER_FOUNDATION
import DefaultsClient
import Linux
import Synchronization

/// The notification of calls in this process that change preferences, on the calling threads.
///
/// `didChangeNotification` is built on this.
package enum OwnChanges {
    /// The handler; it is not called under the lock.
    private static let handler = ForkSafeMutex<Callback<OwnChange, Void>?>(nil)
    /// Whether there is a handler; without one, an edit needs no lock.
    private static let hasHandler = Atomic(false)

    /// Sets the closure to call for each edit from now on, replacing any earlier closure.
    package static func observe(with new: @escaping @Sendable (OwnChange) -> Void) {
        handler.withLock { $0 = Callback(new) }
        hasHandler.store(true, ordering: .releasing)
    }

    static func publish(_ edit: @autoclosure () -> OwnChange) {
        guard hasHandler.load(ordering: .relaxed) else { return }
        guard let handler = handler.withLock({ $0 }) else { return }
        OpenTransaction.outside { handler(edit()) }
    }
}

/// A call in this process that changed preferences, or set them to the values that they already had.
package struct OwnChange {
    /// The instance whose method was called.
    package let defaults: UserDefaults
    /// The domain's name.
    package let domain: String
    /// The keys that the call set, removed or replaced.
    package let keys: [String]

    init(defaults: UserDefaults, domain: String, keys: some Sequence<String>) {
        self.defaults = defaults
        self.domain = domain
        self.keys = Array(keys)
    }
}
#endif
