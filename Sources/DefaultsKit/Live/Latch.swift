import Dispatch

/// Lets threads wait until something has come, once.
final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Lets the thread go on that waits, or will.
    func open() { semaphore.signal() }

    /// Waits; not to be called by a task that others wait for.
    ///
    /// - Parameter milliseconds: how long at most; `nil` for as long as it takes.
    /// - Returns: false when the time is over.
    func wait(milliseconds: Int? = nil) -> Bool {
        guard let milliseconds else {
            semaphore.wait()
            return true
        }
        return semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }
}
