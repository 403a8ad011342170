import DefaultsCore
import NIOCore

/// The frames of the last records that were sent: what one subscriber gets most others get too, and it is made once.
///
/// Confined to the server's event loop.
struct SharedFrames {
    private struct Place: Hashable {
        var revision: Revision
        /// The subscription's number, which is in the frame.
        var number: UInt64
    }

    private struct Frame {
        var record: LogRecord
        var cursor: Cursor
        var bytes: ByteBuffer
    }

    /// More is never kept, whatever waits.
    private static let capacity = 4 << 20

    private var frames: [Place: Frame] = [:]
    private var bytes = 0

    /// The frame of a record for a subscription; made only if no other has got the same, with the same keys.
    mutating func frame(
        of record: LogRecord, cursor: Cursor, to number: UInt64, make: () throws(DefaultsError) -> ByteBuffer
    ) throws(DefaultsError) -> ByteBuffer {
        let place = Place(revision: record.revision, number: number)
        if let known = frames[place], known.cursor == cursor, known.record == record { return known.bytes }
        let made = try make()
        guard made.readableBytes <= Self.capacity else { return made }
        if bytes + made.readableBytes > Self.capacity { removeAll() }
        frames[place] = Frame(record: record, cursor: cursor, bytes: made)
        bytes += made.readableBytes
        return made
    }

    /// Lets all go, once all subscribers have been served.
    mutating func removeAll() {
        frames = [:]
        bytes = 0
    }
}
