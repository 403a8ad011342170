/// A slot for one wake-up: however often it is filled, who waits comes once, and looks for itself what is new.
///
/// So nothing piles up for who is slow, and nobody is left with an old value for having been told twice out of order.
final class WakeUp: Sendable {
    private let slot: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (slot, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Fills the slot.
    func fill() { continuation.yield() }

    /// Lets go of who waits.
    func finish() { continuation.finish() }

    /// The wake-ups, for one task; `nil` at the end, or when the task is cancelled.
    var wakeUps: AsyncStream<Void>.Iterator { slot.makeAsyncIterator() }
}
