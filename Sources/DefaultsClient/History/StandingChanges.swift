package import DefaultsCore

/// The changes in the history that still stand, newest first: those that haven't been undone since.
package struct StandingChanges {
    private struct Change: Hashable {
        var revision: Revision
        var key: String
    }

    package private(set) var history: HistoryReader
    /// The record that took each change back.
    private var takenBack: [Change: Revision] = [:]

    package init(_ history: HistoryReader) {
        self.history = history
    }

    /// A change set, reduced to the changes that still stand, which may be none.
    package struct Element: Hashable, Sendable {
        package var record: LogRecord
        package var cursor: Cursor
        package var changeSet: ChangeSet
        /// The revision of the record that took back the last of the changes that don't stand.
        package var takenBackBy: Revision?

        /// Whether the change set is an undo, which can be redone.
        package var isUndo: Bool { if case .undo? = changeSet.origin?.purpose { true } else { false } }
        /// Whether the change set is a redo.
        var isRedo: Bool { if case .redo? = changeSet.origin?.purpose { true } else { false } }
    }

    /// Makes changes that an undo took back stand again.
    mutating func restore(_ keys: some Sequence<String>, undoneBy element: Element) {
        guard case .undo(let cursor)? = element.changeSet.origin?.purpose else { return }
        for key in keys { takenBack[Change(revision: cursor.revision, key: key)] = nil }
    }

    /// Returns the next change set; `nil` at the beginning of the history.
    package mutating func next() throws(DefaultsError) -> Element? {
        while let record = try history.next() {
            guard var changeSet = record.changeSet, record.domain.user == .current else { continue }
            var takenBackBy: Revision?
            changeSet.changes.removeAll { change in
                let other = takenBack[Change(revision: record.revision, key: change.key)]
                if let other { takenBackBy = max(other, takenBackBy ?? 0) }
                return other != nil
            }
            // An undo that has been redone takes nothing back.
            switch changeSet.origin?.purpose {
            case .undo(let cursor)?, .redo(let cursor)?:
                for change in changeSet.changes {
                    takenBack[Change(revision: cursor.revision, key: change.key)] = record.revision
                }
            default: break
            }
            return Element(
                record: record, cursor: Cursor(epoch: history.epoch, revision: record.revision), changeSet: changeSet,
                takenBackBy: takenBackBy)
        }
        return nil
    }
}
