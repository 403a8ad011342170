import DefaultsCore
import Linux

/// A wait for edits to be safe, and for others' changes to be here.
final class Barrier: Sendable {
    /// What is waited for.
    enum Purpose {
        /// Edits are durable, and what others did before is here.
        case durable
        /// Edits outlive the process.
        case handedOver
    }

    let purpose: Purpose
    private let latch = Latch()
    private let outcome = ForkSafeMutex<[DefaultsError]>([])

    init(_ purpose: Purpose) {
        self.purpose = purpose
    }

    /// Ends the wait.
    func finish(_ failures: [DefaultsError] = []) {
        outcome.withLock { $0 = failures }
        latch.open()
    }

    /// Waits.
    ///
    /// - Parameter milliseconds: how long at most; `nil` for as long as it takes.
    /// - Returns: why edits aren't safe; `nil` when the time is over.
    func wait(milliseconds: Int? = nil) -> [DefaultsError]? {
        latch.wait(milliseconds: milliseconds) ? outcome.withLock { $0 } : nil
    }
}
