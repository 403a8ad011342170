import Synchronization

/// Tells of calls that changed preferences, on the thread that made them: what `didChangeNotification` is made of.
package enum LocalEdits {
    /// Who is told; held for no call.
    private static let handler = ForkSafeMutex<(@Sendable (LocalEdit) -> Void)?>(nil)
    /// Whether anyone is, so that a set need not ask further.
    private static let hasHandler = Atomic(false)

    /// Names who is told from now on.
    package static func observe(with new: @escaping @Sendable (LocalEdit) -> Void) {
        handler.withLock { $0 = new }
        hasHandler.store(true, ordering: .releasing)
    }

    static func post(_ edit: @autoclosure () -> LocalEdit) {
        guard hasHandler.load(ordering: .relaxed) else { return }
        handler.withLock { $0 }?(edit())
    }
}
