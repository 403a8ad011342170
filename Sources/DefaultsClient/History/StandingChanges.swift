package import DefaultsCore

/// The changes in the history that still stand, newest first: those that haven't been undone since.
package struct StandingChanges {
    /// A record that reverses a key's changes from some revision on: an undo or a redo.
    private struct Range {
        var oldest: Revision
        var record: Revision
    }

    /// The undos and redos of a key among the records that have been passed.
    private struct Ranges {
        /// Undos: of all plain changes, and of undos and redos that reach further back.
        ///
        /// So changes before the range stand again if they stood when it began.
        var undos: [Range] = []
        /// Redos, each of which reverses an undo.
        var redos: [Range] = []
    }

    package private(set) var history: HistoryReader
    private var ranges: [Domain: [String: Ranges]] = [:]
    /// The records passed so far that stand for unknown changes, made while no agent was running.
    private(set) var unknown: [LogRecord] = []

    package init(_ history: HistoryReader) {
        self.history = history
    }

    /// A change set, reduced to the changes that still stand, which may be none.
    package struct Element: Hashable, Sendable {
        package var record: LogRecord
        package var cursor: Cursor
        package var changeSet: ChangeSet
        /// The keys of an undo or a redo whose changes canceled each other out, so that its change set lacks them.
        package var canceled: Set<String> = []
        /// The revision of the record that reversed the last of the changes that don't stand.
        package var takenBackBy: Revision?

        /// Whether the change set is an undo, which can be redone.
        package var isUndo: Bool { if case .undo? = changeSet.origin?.purpose { true } else { false } }
        /// Whether the change set is a redo.
        var isRedo: Bool { if case .redo? = changeSet.origin?.purpose { true } else { false } }
        /// The number of the first edit of the same undo or redo, which may be in another domain.
        package var first: Revision { changeSet.origin?.purpose?.reach?.first ?? record.revision }
    }

    /// Makes changes that an undo or a redo reversed stand again.
    mutating func restore(_ keys: some Sequence<String>, takenBackBy element: Element) {
        for key in keys {
            ranges[element.record.domain]?[key]?.undos.removeAll { $0.record == element.record.revision }
            ranges[element.record.domain]?[key]?.redos.removeAll { $0.record == element.record.revision }
        }
    }

    /// Returns the changes to a key that an undo or a redo reverses; `nil` if the record is neither.
    private static func range(of key: String, in record: LogRecord) -> Range? {
        switch record.changeSet?.origin?.purpose {
        case .undo(let newest, let reach)?, .redo(let newest, let reach)?:
            Range(oldest: reach.oldest[key] ?? newest.revision, record: record.revision)
        default: nil
        }
    }

    /// Returns the next change set; `nil` at the beginning of the history.
    package mutating func next() throws(DefaultsError) -> Element? {
        while let record = try history.next() {
            guard record.domain.user == .current else { continue }
            if record.isUnknown { unknown.append(record) }
            guard let changeSet = record.changeSet else { continue }
            var element = Element(
                record: record, cursor: Cursor(epoch: history.epoch, revision: record.revision), changeSet: changeSet)
            let former = ranges[record.domain] ?? [:]
            let isUndo = element.isUndo
            func taker(of key: String) -> Revision? {
                guard let ranges = former[key] else { return nil }
                let start = Self.range(of: key, in: record)?.oldest ?? 0
                let redo = ranges.redos.last { isUndo && $0.oldest <= record.revision }
                let undo = ranges.undos.last { $0.oldest <= record.revision && start < $0.oldest }
                return (redo ?? undo)?.record
            }
            element.takenBackBy = changeSet.changes.compactMap { taker(of: $0.key) }.max()
            element.changeSet.changes.removeAll { taker(of: $0.key) != nil }
            if let reach = changeSet.origin?.purpose?.reach {
                element.canceled = Set(reach.oldest.keys.filter { taker(of: $0) == nil })
                    .subtracting(changeSet.changes.map(\.key))
            }
            // An undo that has been redone reverses nothing.
            for key in element.canceled.union(element.changeSet.changes.map(\.key)) {
                guard let range = Self.range(of: key, in: record) else { break }
                let kind: WritableKeyPath<Ranges, [Range]> = isUndo ? \.undos : \.redos
                ranges[record.domain, default: [:]][key, default: Ranges()][keyPath: kind].append(range)
            }
            return element
        }
        return nil
    }
}
