import DefaultsCore
import NIOCore

/// The last batches of records that were sent: what one subscriber gets, all get that want the same and are as far, and it
/// is made once.
///
/// Of a record that is in different batches, as one of the global domain is, the frame is made once. A batch of every record stays right while the log grows: it holds the records behind its place, and whoever has got it
/// goes on behind them. No other is kept: net changes, and that one is caught up, hold for a moment alone. Confined to the
/// server's event loop.
struct SharedBatches {
    private struct Place: Hashable {
        var epoch: Epoch
        var subscription: Subscription
        /// The subscription's number, which is in the frames.
        var number: UInt64
    }

    private struct Batch {
        var after: Subscription
        var frames: ByteBuffer
    }

    /// So many bytes of frames are kept at most.
    private static let capacity = 4 << 20

    private struct FramePlace: Hashable {
        var cursor: Cursor
        var number: UInt64
    }

    private var batches: [Place: Batch] = [:]
    private var frames: [FramePlace: [UInt8]] = [:]
    private var bytes = 0

    var isEmpty: Bool { batches.isEmpty && frames.isEmpty }

    /// The frame of a whole record, with the record's own place.
    mutating func frame(
        of record: LogRecord, at cursor: Cursor, _ number: UInt64
    ) throws(DefaultsError) -> [UInt8] {
        let place = FramePlace(cursor: cursor, number: number)
        if let frame = frames[place] { return frame }
        let message = Message.event(.record(record, cursor: cursor))
        let frame = try Frame.encode(NumberedMessage(number: number, message: message).fields)
        if frame.count <= Self.capacity {
            if bytes + frame.count > Self.capacity { removeAll() }
            frames[place] = frame
            bytes += frame.count
        }
        return frame
    }

    /// The frames of what comes next for a subscription, which is moved on behind them; `nil` if nobody has got them yet.
    func next(for subscription: inout Subscription, _ number: UInt64, in epoch: Epoch) -> ByteBuffer? {
        guard let batch = batches[Place(epoch: epoch, subscription: subscription, number: number)] else { return nil }
        subscription = batch.after
        return batch.frames
    }

    /// Keeps the frames of what came next for a subscription, if they are of records alone.
    mutating func keep(
        _ frames: ByteBuffer, of events: [SubscriptionEvent], for before: Subscription, _ number: UInt64,
        until after: Subscription
    ) {
        guard before.mode != .latest, frames.readableBytes <= Self.capacity else { return }
        var epoch: Epoch?
        for event in events {
            guard case .record(_, let cursor) = event else { return }
            epoch = cursor.epoch
        }
        guard let epoch else { return }
        if bytes + frames.readableBytes > Self.capacity { removeAll() }
        batches[Place(epoch: epoch, subscription: before, number: number)] = Batch(after: after, frames: frames)
        bytes += frames.readableBytes
    }

    /// Lets all go.
    mutating func removeAll() {
        batches = [:]
        frames = [:]
        bytes = 0
    }
}
