import Manifests

/// The net change of several change sets: each key's value before the first and after the last.
enum NetChange {
    /// Joins the change sets of each domain into one, at the position of the last one; leaves other records as they
    /// are.
    ///
    /// A joined record has the revision, time, source and origin of its last change set. Keys that have returned to
    /// their first value are left out, and so are change sets without any remaining keys. Don't resume from a revision
    /// in the result, since a later record may include changes from before it.
    ///
    /// The time taken is proportional to the number of changes, even if many records are about one domain.
    ///
    /// - Parameters:
    ///   - records: The records, oldest first.
    ///   - includesUnchanged: Whether keys that have returned to their first value are included.
    /// - Returns: The joined records and the others.
    static func coalesce(_ records: [LogRecord], includingUnchanged includesUnchanged: Bool = false) -> [LogRecord] {
        var joined: [Entry] = []
        var indices: [Domain: Int] = [:]
        for record in records {
            guard case .change(let changeSet) = record.event else {
                // Change sets after this record aren't joined with those before it.
                indices[record.domain] = nil
                joined.append(.whole(record))
                continue
            }
            if let index = indices[record.domain], case .net(var net) = joined[index] {
                // Leave no second reference, or `net` would be copied when it changes.
                joined[index] = .moved
                net.add(changeSet, of: record)
                joined.append(.net(net))
            } else {
                joined.append(.net(Net(changeSet, of: record)))
            }
            indices[record.domain] = joined.count - 1
        }
        return joined.compactMap { $0.record(includingUnchanged: includesUnchanged) }
    }

    private enum Entry {
        case whole(LogRecord)
        case net(Net)
        /// An entry that was joined with a later one.
        case moved

        func record(includingUnchanged includesUnchanged: Bool) -> LogRecord? {
            switch self {
            case .whole(let record): record
            case .net(let net): net.record(includingUnchanged: includesUnchanged)
            case .moved: nil
            }
        }
    }

    /// The joined change sets of one domain.
    private struct Net {
        private var changes: [String: KeyChange] = [:]
        private var overruled: [Overruled] = []
        private var violations: [Violation] = []
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
                changes[change.key] = net
            }
            overruled += newer.overruled
            violations.removeAll { violation in newer.changes.contains { $0.key == violation.key } }
            violations += newer.violations
        }

        /// Returns the record of the net change; `nil` if it is empty.
        func record(includingUnchanged includesUnchanged: Bool) -> LogRecord? {
            if !isJoined { return lastChangeSet.isEmpty ? nil : last }
            var changeSet = ChangeSet(
                domain: lastChangeSet.domain, source: lastChangeSet.source,
                changes: changes.values.filter { includesUnchanged || $0.old != $0.new },
                overruled: overruled, edit: lastChangeSet.edit, origin: lastChangeSet.origin)
            if changeSet.isEmpty { return nil }
            changeSet.violations = violations
            return LogRecord(revision: last.revision, time: last.time, event: .change(changeSet))
        }
    }
}
