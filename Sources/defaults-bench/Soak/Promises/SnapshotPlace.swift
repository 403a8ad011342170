import DefaultsCore

/// A snapshot is taken at one place, R, for all domains, and the stream goes on from there: its first record comes after R,
/// and no snapshot comes again between records.
struct SnapshotPlace: StreamPromise {
    static let name = "Snapshot"
    private var place: Cursor?
    private var hasRecords = false

    mutating func take(_ event: StreamEvent) -> String? {
        switch event {
        case .initial(let snapshot):
            defer { place = snapshot.cursor }
            if hasRecords { return "values at \(snapshot.cursor), after records" }
            if let place, place != snapshot.cursor { return "values at \(snapshot.cursor) and at \(place)" }
        case .record(_, let cursor):
            defer { hasRecords = true }
            if !hasRecords, let place, cursor.revision <= place.revision {
                return "the values were taken at \(place), and \(cursor) follows"
            }
        case .bookmark, .gap, .ended: break
        }
        return nil
    }
}
