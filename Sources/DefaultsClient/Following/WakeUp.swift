import Linux

/// A slot for one wake-up: no matter how often it is filled, the waiting task resumes once and checks for changes.
///
/// So nothing accumulates for a slow consumer, and no consumer is left with an old value because notifications arrived
/// out of order. A consumer without tasks is called instead.
package final class WakeUp: Sendable {
    private enum Slot {
        case empty
        case filled
        case awaited(CheckedContinuation<Bool, Never>)
        case finished
    }

    /// The slot; no task is resumed under the lock.
    private let slot = ForkSafeMutex(Slot.empty)

    private let action: (@Sendable () -> Void)?

    /// Creates an empty slot, or one that calls a closure instead, on any thread.
    package init(calling action: (@Sendable () -> Void)? = nil) { self.action = action }

    /// Fills the slot.
    package func fill() {
        if let action { return action() }
        let waiting = slot.withLock { slot -> CheckedContinuation<Bool, Never>? in
            switch slot {
            case .empty:
                slot = .filled
                return nil
            case .awaited(let continuation):
                slot = .empty
                return continuation
            case .filled, .finished: return nil
            }
        }
        waiting?.resume(returning: true)
    }

    /// Ends the current wait and all later ones.
    package func finish() {
        let waiting = slot.withLock { slot -> CheckedContinuation<Bool, Never>? in
            defer { slot = .finished }
            if case .awaited(let continuation) = slot { return continuation }
            return nil
        }
        waiting?.resume(returning: false)
    }

    /// Waits until the slot is filled, and then empties it; only one task may wait.
    ///
    /// - Returns: False after `finish()` or if the task is canceled, which also finishes the slot.
    package func wait(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { continuation in
                let isFilled = slot.withLock { slot -> Bool? in
                    switch slot {
                    case .empty:
                        slot = .awaited(continuation)
                        return nil
                    case .filled:
                        slot = .empty
                        return true
                    case .awaited, .finished: return false
                    }
                }
                if let isFilled { continuation.resume(returning: isFilled) }
            }
        } onCancel: {
            finish()
        }
    }
}
