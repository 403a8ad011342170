package import DefaultsCore

/// A search for change sets that can be undone or redone, newest first.
package struct UndoSearch {
    /// The change sets to find.
    package enum Subject: Hashable, Sendable {
        /// Those made by apps and files.
        case changes
        /// Those made by apps and files, by undo and by redo: everything, so that the values from before are restored.
        case all
        /// Those made by undo.
        case undos
    }

    private var standing: StandingChanges
    private let subject: Subject
    /// The records about each key that the search has passed, as far as they explain why an older change stays.
    private var newest: [Domain: [String: LogRecord]] = [:]
    /// The keys with standing changes among those that the search has passed and that stay.
    private var later: [Domain: Set<String>] = [:]

    package init(_ history: HistoryReader, for subject: Subject = .changes) {
        standing = StandingChanges(history)
        self.subject = subject
    }

    /// The reason why the search ended early; see `HistoryReader`.
    package var problem: DefaultsError? { standing.history.problem }

    /// The changes that have been thinned out; see `HistoryReader`.
    package var thinned: ThinnedChanges { standing.history.thinned }

    /// The records passed so far that stand for unknown changes, made while no agent was running.
    package var unknown: [LogRecord] { standing.unknown }

    /// A change set that was found.
    package struct Found: Hashable, Sendable {
        package var element: StandingChanges.Element
        /// The keys that have a later change, which still stands, so that this one can't be undone.
        package var overtaken: Set<String>
    }

    /// Finds the next change set.
    ///
    /// - Parameter isNamed: A function that returns whether a user has named a record. Such a record is found even if
    ///   it isn't a candidate otherwise, or all of its changes have been undone.
    /// - Returns: The change set, with the changes that haven't been undone; `nil` at the beginning of the history. It
    ///   has no changes if they are all excluded from the history.
    /// - Throws: The errors of the reader.
    package mutating func next(
        orNamed isNamed: (LogRecord) -> Bool = { _ in false }
    ) throws(DefaultsError) -> Found? {
        while let element = try standing.next() {
            let record = element.record
            for change in record.changeSet?.changes ?? [] where newest[record.domain]?[change.key] == nil {
                newest[record.domain, default: [:]][change.key] = record
            }
            let overtaken = addLater(element)
            if isNamed(record) || isCandidate(element) { return Found(element: element, overtaken: overtaken) }
        }
        return nil
    }

    /// Records which keys of the change set found last are undone, so that older changes of them can be, too.
    package mutating func remove(_ keys: some Sequence<String>, of found: Found) {
        later[found.element.record.domain]?.subtract(keys)
        // The redo of an undo makes an older change stand again, which is later than still older undos.
        standing.restore(keys, takenBackBy: found.element)
        for key in keys { newest[found.element.record.domain]?[key] = nil }
    }

    /// Adds an element's changes to the later ones; returns the keys that have later ones already.
    private mutating func addLater(_ element: StandingChanges.Element) -> Set<String> {
        let known = later[element.record.domain] ?? []
        // An undo only restores what was before the change that it reverses, and a redo restores that change.
        if !element.isRedo, subject == .undos || !element.isUndo {
            later[element.record.domain] = known.union(element.changeSet.changes.map(\.key)).union(element.canceled)
        }
        // A change that has been undone may have a later one, too.
        return known.intersection((element.record.changeSet?.changes.map(\.key) ?? []) + element.canceled)
    }

    /// Returns the newest record about a key that stays, among those that the search has passed.
    package func lastChange(of key: String, in domain: Domain) -> LogRecord? { newest[domain]?[key] }

    private func isCandidate(_ element: StandingChanges.Element) -> Bool {
        let isCandidate =
            switch subject {
            case .undos: element.isUndo
            case .changes: !element.isUndo && !element.isRedo && element.changeSet.source != .agent
            case .all: element.changeSet.source != .agent
            }
        // An undo whose changes canceled each other out still keeps them from standing.
        let hasChanges = !element.changeSet.changes.isEmpty || subject == .all && !element.canceled.isEmpty
        return isCandidate && (hasChanges || element.record.hasExcludedKeys)
    }
}

extension LogRecord {
    /// Whether it stands for changes to any keys of the domain, made while no agent was running.
    package var isUnknown: Bool { event == .unknown(domain) }

    /// Whether it had keys that are excluded from the history.
    package var hasExcludedKeys: Bool { if case .unknown(_, rest: _?) = event { true } else { false } }
}
