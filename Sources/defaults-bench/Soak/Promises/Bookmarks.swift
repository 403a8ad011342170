import DefaultsCore

/// A bookmark names the place that has been reached: nothing from before it follows, and the first one comes as soon as
/// the subscriber has caught up.
struct Bookmarks: StreamPromise {
    static let name = "Bookmarked"
    private var reached: Cursor?

    mutating func take(_ event: StreamEvent) -> String? {
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
