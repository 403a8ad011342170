import DefaultsCore
import NIOCore

/// The batches of records sent last, which all subscribers with the same filter and position share.
///
/// A record in several batches, such as one of the global domain, is encoded only once. A batch of records stays valid
/// while the log grows: it holds the records after a position, and a subscriber that gets the batch continues after
/// them. Only such batches are retained, because net changes and bookmarks are valid only briefly. This value is
/// confined to the server's event loop.
struct SharedBatches {
    private struct BatchKey: Hashable {
        var epoch: Epoch
        var subscription: Subscription
        /// The subscription's number, which is part of the frames.
        var number: UInt64
    }

    private struct Batch {
        var after: Subscription
        var frames: ByteBuffer
    }

    /// The maximum total size of the retained frames, in bytes.
    private static let capacity = 4 << 20

    private struct FrameKey: Hashable {
        var cursor: Cursor
        var number: UInt64
    }

    private var batches: [BatchKey: Batch] = [:]
    private var frames: [FrameKey: [UInt8]] = [:]
    private var bytes = 0

    var isEmpty: Bool { batches.isEmpty && frames.isEmpty }

    /// Returns the frame of a whole record with its own cursor.
    mutating func frame(
        of record: LogRecord, at cursor: Cursor, _ number: UInt64
    ) throws(DefaultsError) -> [UInt8] {
        let key = FrameKey(cursor: cursor, number: number)
        if let frame = frames[key] { return frame }
        let message = Message.event(.record(record, cursor: cursor))
        let frame = try Frame.encode(NumberedMessage(number: number, message: message).fields)
        if frame.count <= Self.capacity {
            if bytes + frame.count > Self.capacity { removeAll() }
            frames[key] = frame
            bytes += frame.count
        }
        return frame
    }

    /// Returns the frames of a subscription's next events and moves the subscription past them; `nil` if there are no
    /// such frames.
    func next(for subscription: inout Subscription, number: UInt64, in epoch: Epoch) -> ByteBuffer? {
        guard let batch = batches[BatchKey(epoch: epoch, subscription: subscription, number: number)] else {
            return nil
        }
        subscription = batch.after
        return batch.frames
    }

    /// Retains the frames of a subscription's next events if all of these are records.
    mutating func store(
        _ frames: ByteBuffer, of events: [StreamEvent], for before: Subscription, number: UInt64,
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
        batches[BatchKey(epoch: epoch, subscription: before, number: number)] = Batch(after: after, frames: frames)
        bytes += frames.readableBytes
    }

    /// Removes all frames.
    mutating func removeAll() {
        batches = [:]
        frames = [:]
        bytes = 0
    }
}
