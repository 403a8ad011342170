package import DefaultsCore

/// The promise that each record arrives once, in the order of revisions, and none is missing.
///
/// For a subscriber whose filter excludes something, only the order can be checked.
package struct Order: StreamPromise {
    package static let name = "Ordered, unique, gap-free"
    private var last: Cursor?
    private let seesAll: Bool

    init(seesAll: Bool) { self.seesAll = seesAll }

    package mutating func take(_ event: StreamEvent) -> String? {
        switch event {
        case .initial(let snapshot): last = snapshot.cursor
        case .record(let record, let cursor):
            defer { last = cursor }
            if record.revision != cursor.revision { return "the record \(record.revision) came at \(cursor)" }
            if let last,
                cursor.revision <= last.revision
                    || seesAll && (cursor.epoch != last.epoch || cursor.revision != last.revision + 1)
            {
                return "\(cursor) came after \(last)"
            }
        case .bookmark(let cursor): last = last ?? cursor
        case .gap(let from, let to): return "a gap from \(from) to \(to), of a subscriber that keeps up"
        case .ended: return "the stream ended"
        }
        return nil
    }
}
