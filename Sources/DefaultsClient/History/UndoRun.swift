package import DefaultsCore
import PropertyList

/// A run of undo, redo or the reset of a profile, which takes back change sets one after another.
package struct UndoRun {
    private let backend: any Backend
    private let isDry: Bool
    /// The values that a dry run has reached.
    private var values: [Domain: DomainValues] = [:]

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - backend: The agent or store that makes the edits.
    ///   - isDry: Whether nothing is changed.
    package init(_ backend: any Backend, isDry: Bool = false) {
        self.backend = backend
        self.isDry = isDry
    }

    /// The outcome of taking back a change set.
    package struct Outcome: Hashable, Sendable {
        /// The changes made, from the present to the former values.
        package var changes: [KeyChange] = []
        /// The keys left alone, because they have been changed later.
        package var kept: [String] = []
    }

    /// Takes back a change set, except for keys that have been changed later.
    ///
    /// The edit is made on the condition that its keys still hold what the change set gave them, so it can't undo an
    /// edit that isn't in the history yet.
    ///
    /// - Parameters:
    ///   - changeSet: The change set.
    ///   - overtaken: The keys with later changes in the history. Their values may be the same again.
    ///   - purpose: The purpose of the edit, which the history records.
    /// - Returns: The changes made, and the keys left alone.
    /// - Throws: `DefaultsError` if the edit is refused, or the agent is gone.
    package mutating func takeBack(
        _ changeSet: ChangeSet, but overtaken: Set<String> = [], for purpose: Origin.Purpose
    ) throws(DefaultsError) -> Outcome {
        while true {
            let reached = values[changeSet.domain]
            let present = if let reached { reached } else { try backend.snapshot(of: changeSet.domain).values }
            let outcome = Self.outcome(of: changeSet, but: overtaken, present)
            if outcome.changes.isEmpty { return outcome }
            let edit = Difference(outcome.changes.map { ($0.key, $0.new) }) { $1 }
            if isDry {
                var result = present
                for change in outcome.changes { result[change.key] = change.new }
                values[changeSet.domain] = result
                return outcome
            }
            do throws(DefaultsError) {
                try backend.edit(
                    changeSet.domain, edit, replacesAll: false,
                    expecting: Difference(outcome.changes.map { ($0.key, $0.old) }) { $1 },
                    origin: Origin(purpose: purpose))
                return outcome
            } catch {
                // Another program changed the keys first.
                guard error.code == .changed else { throw error }
            }
        }
    }

    private static func outcome(
        of changeSet: ChangeSet, but overtaken: Set<String>, _ present: DomainValues
    ) -> Outcome {
        var outcome = Outcome()
        for change in changeSet.changes {
            let value = present[change.key]
            if overtaken.contains(change.key) {
                outcome.kept.append(change.key)
            } else if PropertyListValue.areSame(change.new, inEffect: value) {
                outcome.changes.append(KeyChange(key: change.key, old: value, new: change.old))
            } else if !PropertyListValue.areSame(change.old, inEffect: value) {
                outcome.kept.append(change.key)
            }
        }
        return outcome
    }
}
