package import DefaultsCore

/// A search for change sets that can be taken back, newest first.
///
/// It follows which changes have been taken back already, and which of those have been made again. A change set is
/// found with those of its changes that are in effect as far as undo is concerned.
package struct UndoSearch {
    /// The change sets to find.
    package enum Subject: Hashable, Sendable {
        /// Those made by apps and files.
        case changes
        /// Those made by undo.
        case undos
    }

    private struct Change: Hashable {
        var revision: Revision
        var key: String
    }

    private var history: HistoryReader
    private let subject: Subject
    private var takenBack: Set<Change> = []
    /// The newest record of each key, by which later changes are explained.
    private var newest: [Domain: [String: LogRecord]] = [:]

    package init(_ history: HistoryReader, _ subject: Subject = .changes) {
        self.history = history
        self.subject = subject
    }

    /// A change set that can be taken back.
    package struct Candidate: Hashable, Sendable {
        package var record: LogRecord
        package var cursor: Cursor
        /// The changes that haven't been taken back.
        package var changeSet: ChangeSet
    }

    /// Finds the next candidate.
    ///
    /// - Parameter isNamed: A function that returns whether a user has named a record, which is then found even if it
    ///   isn't a candidate otherwise.
    /// - Returns: The candidate; `nil` at the beginning of the history.
    /// - Throws: The errors of the reader.
    package mutating func next(orNamed isNamed: (LogRecord) -> Bool = { _ in false }) throws(DefaultsError)
        -> Candidate?
    {
        while let record = try history.next() {
            guard case .change(var changeSet) = record.event, record.domain.user == .current else { continue }
            for change in changeSet.changes where newest[record.domain]?[change.key] == nil {
                newest[record.domain, default: [:]][change.key] = record
            }
            changeSet.changes.removeAll {
                takenBack.contains(Change(revision: record.revision, key: $0.key))
            }
            if changeSet.changes.isEmpty { continue }
            let kind = note(changeSet)
            // What isn't an undo can't be redone.
            guard kind == subject || subject == .changes && isNamed(record) else { continue }
            return Candidate(
                record: record, cursor: Cursor(epoch: history.epoch, revision: record.revision), changeSet: changeSet)
        }
        return nil
    }

    /// Returns the newest record about a key, among those that the search has passed.
    package func lastChange(of key: String, in domain: Domain) -> LogRecord? { newest[domain]?[key] }

    /// Notes what a change set has taken back, and returns what kind of candidate it is.
    private mutating func note(_ changeSet: ChangeSet) -> Subject? {
        switch changeSet.origin?.purpose {
        case .undo(let cursor)?:
            for change in changeSet.changes { takenBack.insert(Change(revision: cursor.revision, key: change.key)) }
            return .undos
        case .redo(let cursor)?:
            for change in changeSet.changes { takenBack.insert(Change(revision: cursor.revision, key: change.key)) }
            return nil
        default:
            return changeSet.source == .agent ? nil : .changes
        }
    }
}
