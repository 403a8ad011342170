import Manifests
import PropertyList

/// An immutable entry of the change log.
package struct LogRecord: Hashable, Sendable {
    package var revision: Revision
    /// The wall-clock time when the record was published, for display and not for ordering.
    package var time: Timestamp
    /// The time when the writer made the changes; `nil` if that is `time`, or unknown.
    package var made: Timestamp?
    package var event: Event

    package init(revision: Revision, time: Timestamp, made: Timestamp? = nil, event: Event) {
        self.revision = revision
        self.time = time
        self.made = made.flatMap { $0 < time ? $0 : nil }
        self.event = event
    }

    /// The time of the changes that decides between writers.
    var changeTime: Timestamp { made ?? time }

    /// The event that a record describes.
    ///
    /// Indirect, so that records are small: at the start with a full log, tens of thousands of them are moved around.
    package indirect enum Event: Hashable, Sendable {
        /// A change set, with all its keys.
        case change(ChangeSet)
        /// The file can't be used; the domain keeps its last good values.
        case damaged(Domain, reason: String)
        /// Edits can't be saved; they stay in effect, and saving is retried.
        case unsaved(Domain, reason: String)
        /// The domain is no longer damaged or unsaved.
        case recovered(Domain)
        /// Not all changes are known.
        ///
        /// Either the file changed while no agent was running, or there is a `rest` of a change set, some of whose keys
        /// are excluded from the history.
        case unknown(Domain, rest: ChangeSet? = nil)
    }

    /// The maximum revision that is accepted from a file.
    ///
    /// A corrupt file may contain any revision, but a genuine revision never comes near the maximum.
    static let maximumRevision = Revision(Int64.max)

    /// The domain that the record is about.
    package var domain: Domain { event.domain }

    /// The changes, as far as they are known; `nil` if none are.
    package var changeSet: ChangeSet? {
        get {
            switch event {
            case .change(let changeSet): changeSet
            case .unknown(_, let rest): rest
            case .damaged, .unsaved, .recovered: nil
            }
        }
        set {
            guard let newValue else { return }
            switch event {
            case .change: event = .change(newValue)
            case .unknown(let domain, _): event = .unknown(domain, rest: newValue)
            case .damaged, .unsaved, .recovered: break
            }
        }
    }

    /// Whether the log holds only a part of this app's edit.
    ///
    /// If the edit wasn't saved, all of it is lost.
    var isPartlyLogged: Bool {
        if case .unknown(_, let rest?) = event, case .app = rest.source { true } else { false }
    }

    /// The keys that the record is about: those that changed, and those whose changes an undo or a redo reverses
    /// without effect, since they canceled each other out.
    var keys: Set<String> {
        guard let changeSet else { return [] }
        return Set(changeSet.changes.map(\.key)).union(changeSet.origin?.purpose?.reach?.oldest.keys.map(\.self) ?? [])
    }

    /// Whether it is a change set without changes.
    var hasNoChanges: Bool { if case .change(let changeSet) = event { changeSet.isEmpty } else { false } }

    /// Returns the record with the changes to some keys only.
    func filter(_ isWanted: (_ key: String) -> Bool) -> LogRecord {
        guard var changeSet else { return self }
        changeSet.changes.removeAll { !isWanted($0.key) }
        changeSet.overruled.removeAll { !isWanted($0.key) }
        changeSet.violations.removeAll { !isWanted($0.key) }
        var filtered = self
        filtered.changeSet = changeSet
        return filtered
    }
}

extension LogRecord {
    /// The approximate size of the record in memory, in bytes.
    var estimatedSize: Int {
        switch event {
        case .change(let changeSet), .unknown(_, let changeSet?):
            let changes = changeSet.changes.reduce(0) {
                $0 + $1.key.utf8.count + ($1.old?.estimatedSize ?? 8) + ($1.new?.estimatedSize ?? 8) + 64
            }
            let overruled = changeSet.overruled.reduce(changes) {
                $0 + $1.key.utf8.count + ($1.value?.estimatedSize ?? 8) + 64
            }
            return changeSet.violations.reduce(overruled) {
                $0 + $1.place.utf8.count + ($1.limit?.estimatedSize ?? 8) + 64
            } + changeSet.excluded.reduce(128) { $0 + $1.hashes.count * 10 }
        case .damaged(_, let reason), .unsaved(_, let reason): return reason.utf8.count + 128
        case .recovered, .unknown: return 128
        }
    }
}

extension PropertyListValue {
    /// The approximate size of the value in memory, in bytes.
    var estimatedSize: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .array(let elements): elements.reduce(16) { $0 + $1.estimatedSize + 24 }
        case .dictionary(let entries): entries.reduce(16) { $0 + $1.key.utf8.count + $1.value.estimatedSize + 48 }
        case .integer, .unsigned, .real, .real32, .boolean, .date, .uid: 8
        }
    }
}

extension Array {
    /// Returns the number of elements before the first one that doesn't meet a condition, by binary search.
    ///
    /// No later element may meet the condition.
    func countOfPrefix(_ meetsCondition: (Element) -> Bool) -> Int {
        var (count, end) = (0, self.count)
        while count < end {
            let middle = (count + end) / 2
            if meetsCondition(self[middle]) { count = middle + 1 } else { end = middle }
        }
        return count
    }
}

extension LogRecord.Event {
    /// The domain that the event is about.
    var domain: Domain {
        switch self {
        case .change(let changeSet): changeSet.domain
        case .damaged(let domain, _), .unsaved(let domain, _), .recovered(let domain), .unknown(let domain, _): domain
        }
    }
}
