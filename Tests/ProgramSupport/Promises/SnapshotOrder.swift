package import DefaultsCore

/// The promise that a snapshot shows all domains at one cursor, and the stream continues from there.
///
/// The first record comes after that cursor, and no other snapshot comes between records.
package struct SnapshotOrder: StreamPromise {
    package static let name = "Snapshot"
    private var place: Cursor?
    private var hasRecords = false

    package mutating func take(_ event: StreamEvent) -> String? {
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
