import DefaultsCore
import NIOCore

/// The last batches of events that were sent: what one subscriber gets, all get that want the same and are as far, and it is
/// made once.
///
/// A batch stays right while the log grows: it holds the records behind its place, and whoever has got it goes on behind
/// them. Confined to the server's event loop.
struct SharedBatches {
    private struct Place: Hashable {
        var subscription: Subscription
        /// The subscription's number, which is in the frames.
        var number: UInt64
    }

    private struct Batch {
        var after: Subscription
        var frames: ByteBuffer
    }

    /// More is never kept, whatever waits.
    private static let capacity = 4 << 20

    private var batches: [Place: Batch] = [:]
    private var bytes = 0

    var isEmpty: Bool { batches.isEmpty }

    /// The frames of what comes next for a subscription, which is moved on behind them; `nil` if nobody has got them yet.
    func next(for subscription: inout Subscription, _ number: UInt64) -> ByteBuffer? {
        guard let batch = batches[Place(subscription: subscription, number: number)] else { return nil }
        subscription = batch.after
        return batch.frames
    }

    /// Keeps the frames of what came next for a subscription.
    mutating func keep(_ frames: ByteBuffer, for before: Subscription, _ number: UInt64, until after: Subscription) {
        guard frames.readableBytes <= Self.capacity else { return }
        if bytes + frames.readableBytes > Self.capacity { removeAll() }
        batches[Place(subscription: before, number: number)] = Batch(after: after, frames: frames)
        bytes += frames.readableBytes
    }

    /// Lets all go.
    mutating func removeAll() {
        batches = [:]
        bytes = 0
    }
}
