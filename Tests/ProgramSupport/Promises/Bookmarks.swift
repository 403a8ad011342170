package import DefaultsCore

/// The promise that a bookmark names the cursor that the stream has reached.
///
/// No earlier record follows a bookmark, and the first bookmark arrives as soon as the subscriber has caught up.
package struct Bookmarks: StreamPromise {
    package static let name = "Bookmarked"
    private var reached: Cursor?

    package mutating func take(_ event: StreamEvent) -> String? {
        switch event {
        case .initial(let snapshot): reached = snapshot.cursor
        case .record(_, let cursor):
            defer { reached = cursor }
            if let reached, cursor.revision <= reached.revision { return "\(cursor) came after \(reached) was reached" }
        case .bookmark(let cursor):
            defer { reached = cursor }
            if let reached, cursor.epoch != reached.epoch || cursor.revision < reached.revision {
                return "the bookmark \(cursor) came after \(reached)"
            }
        case .gap, .ended: break
        }
        return nil
    }
}
