/// Makes one change set of several: each key's value before the first and after the last.
enum NetChange {
    /// Joins the change sets of each domain into one, at the place of its last; leaves other records as they are.
    ///
    /// A record keeps the revision, time and source of the last change set in it. Keys that are back where they began are
    /// left out, and so is a change set that has none left. The result's revisions are no places to resume from: what an
    /// earlier record said may be told with a later one.
    ///
    /// Takes time in proportion to the changes, however many records there are of one domain.
    static func coalesce(_ records: [LogRecord]) -> [LogRecord] {
        var joined: [Entry] = []
        var places: [Domain: Int] = [:]
        for record in records {
            guard case .change(let changeSet) = record.event else {
                // What comes after it is told after it.
                places[record.domain] = nil
                joined.append(.whole(record))
                continue
            }
            if let place = places[record.domain], case .net(var net) = joined[place] {
                // Else it would be copied.
                joined[place] = .moved
                net.add(changeSet, of: record)
                joined.append(.net(net))
            } else {
                joined.append(.net(Net(changeSet, of: record)))
            }
            places[record.domain] = joined.count - 1
        }
        return joined.compactMap(\.record)
    }

    private enum Entry {
        case whole(LogRecord)
        case net(Net)
        /// It was joined with a later one.
        case moved

        var record: LogRecord? {
            switch self {
            case .whole(let record): record
            case .net(let net): net.record
            case .moved: nil
            }
        }
    }

    /// Change sets of one domain, joined.
    private struct Net {
        private var changes: [String: KeyChange] = [:]
        private var overruled: [Overruled] = []
        private var last: LogRecord
        private var lastChangeSet: ChangeSet
        private var isJoined = false

        init(_ changeSet: ChangeSet, of record: LogRecord) {
            last = record
            lastChangeSet = changeSet
        }

        mutating func add(_ changeSet: ChangeSet, of record: LogRecord) {
            if !isJoined { join(lastChangeSet) }
            isJoined = true
            join(changeSet)
            last = record
            lastChangeSet = changeSet
        }

        private mutating func join(_ newer: ChangeSet) {
            for change in newer.changes {
                var net = change
                if let first = changes[change.key] { net.old = first.old }
                changes[change.key] = net.old == net.new ? nil : net
            }
            overruled += newer.overruled
        }

        /// The net change; `nil` when nothing changed.
        var record: LogRecord? {
            if !isJoined { return lastChangeSet.isEmpty ? nil : last }
            let changeSet = ChangeSet(
                domain: lastChangeSet.domain, source: lastChangeSet.source, changes: Array(changes.values),
                overruled: overruled, edit: lastChangeSet.edit)
            if changeSet.isEmpty { return nil }
            return LogRecord(revision: last.revision, time: last.time, event: .change(changeSet))
        }
    }
}
