/// Makes one change set of several: each key's value before the first and after the last.
enum NetChange {
    /// Joins the change sets of each domain into one, at the place of its last; leaves other records as they are.
    ///
    /// A record keeps the revision, time and source of the last change set in it. Keys that are back where they began are
    /// left out, and so is a change set that has none left. The result's revisions are no places to resume from: what an
    /// earlier record said may be told with a later one.
    static func coalesce(_ records: [LogRecord]) -> [LogRecord] {
        var joined: [LogRecord?] = []
        var places: [Domain: Int] = [:]
        for record in records {
            guard case .change(let newer) = record.event else {
                // What comes after it is told after it.
                places[record.domain] = nil
                joined.append(record)
                continue
            }
            var changeSet = newer
            if let place = places[record.domain], case .change(let older)? = joined[place]?.event {
                changeSet = join(older, newer)
                joined[place] = nil
            }
            places[record.domain] = joined.count
            joined.append(LogRecord(revision: record.revision, time: record.time, event: .change(changeSet)))
        }
        return joined.compactMap { record in
            if case .change(let changeSet)? = record?.event, changeSet.isEmpty { return nil }
            return record
        }
    }

    private static func join(_ older: ChangeSet, _ newer: ChangeSet) -> ChangeSet {
        var changes = Dictionary(older.changes.map { ($0.key, $0) }) { $1 }
        for change in newer.changes {
            var net = change
            if let first = changes[change.key] { net.old = first.old }
            changes[change.key] = net.old == net.new ? nil : net
        }
        return ChangeSet(
            domain: newer.domain, source: newer.source, changes: Array(changes.values),
            overruled: older.overruled + newer.overruled, edit: newer.edit)
    }
}
