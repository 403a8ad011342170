import Linux

/// A slot for one wake-up: however often it is filled, who waits comes once, and looks for itself what is new.
///
/// So nothing piles up for who is slow, and nobody is left with an old value for having been told twice out of order.
final class WakeUp: Sendable {
    private enum Slot {
        case empty
        case filled
        case awaited(CheckedContinuation<Bool, Never>)
        case finished
    }

    /// Nobody is resumed under its lock.
    private let slot = ForkSafeMutex(Slot.empty)

    /// Fills the slot.
    func fill() {
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

    /// Lets go of who waits.
    func finish() {
        let waiting = slot.withLock { slot -> CheckedContinuation<Bool, Never>? in
            defer { slot = .finished }
            if case .awaited(let continuation) = slot { return continuation }
            return nil
        }
        waiting?.resume(returning: false)
    }

    /// Waits until the slot is filled, and empties it; for one task.
    ///
    /// - Returns: false at the end, or when the task is cancelled, which is the end.
    func wait(isolation: isolated (any Actor)? = #isolation) async -> Bool {
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
