import Linux
import Synchronization

/// Tells of calls that changed preferences, on the thread that made them: what `didChangeNotification` is made of.
package enum LocalEdits {
    /// Held for no call.
    private static let handler = ForkSafeMutex<Handler?>(nil)
    /// Whether there is a handler, so that a set need not look further.
    private static let hasHandler = Atomic(false)

    /// A closure on its own in a generic type would be wrapped once more, and stored so, by each access.
    private struct Handler {
        let handle: @Sendable (LocalEdit) -> Void
    }

    /// Calls a closure for each edit from now on.
    package static func observe(with new: @escaping @Sendable (LocalEdit) -> Void) {
        handler.withLock { $0 = Handler(handle: new) }
        hasHandler.store(true, ordering: .releasing)
    }

    static func post(_ edit: @autoclosure () -> LocalEdit) {
        guard hasHandler.load(ordering: .relaxed) else { return }
        handler.withLock { $0 }?.handle(edit())
    }
}
