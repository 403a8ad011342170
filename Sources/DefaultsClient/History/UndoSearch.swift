package import DefaultsCore

/// A search for change sets that can be undone or redone, newest first.
package struct UndoSearch {
    /// The change sets to find.
    package enum Subject: Hashable, Sendable {
        /// Those made by apps and files.
        case changes
        /// Those made by undo.
        case undos
    }

    private var standing: StandingChanges
    private let subject: Subject
    /// The newest record of each key, by which later changes are explained.
    private var newest: [Domain: [String: LogRecord]] = [:]

    package init(_ history: HistoryReader, _ subject: Subject = .changes) {
        standing = StandingChanges(history)
        self.subject = subject
    }

    /// The reason why the search ended early; see `HistoryReader`.
    package var problem: DefaultsError? { standing.history.problem }

    /// Finds the next change set.
    ///
    /// - Parameter isNamed: A function that returns whether a user has named a record, which is then found even if it
    ///   isn't a candidate otherwise, or all of its changes have been taken back.
    /// - Returns: The change set, with the changes that haven't been taken back; `nil` at the beginning of the history.
    /// - Throws: The errors of the reader.
    package mutating func next(
        orNamed isNamed: (LogRecord) -> Bool = { _ in false }
    ) throws(DefaultsError) -> StandingChanges.Element? {
        while let element = try standing.next() {
            let record = element.record
            for change in record.changeSet?.changes ?? [] where newest[record.domain]?[change.key] == nil {
                newest[record.domain, default: [:]][change.key] = record
            }
            if isNamed(record) { return element }
            if !element.changeSet.changes.isEmpty, isCandidate(element) { return element }
        }
        return nil
    }

    /// Returns the newest record about a key, among those that the search has passed.
    package func lastChange(of key: String, in domain: Domain) -> LogRecord? { newest[domain]?[key] }

    private func isCandidate(_ element: StandingChanges.Element) -> Bool {
        switch subject {
        case .undos: element.isUndo
        case .changes: !element.isUndo && !element.isRedo && element.changeSet.source != .agent
        }
    }
}
