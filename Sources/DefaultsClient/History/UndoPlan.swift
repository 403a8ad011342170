package import DefaultsCore
import PropertyList

/// An undo or a redo of chosen change sets, which makes one edit in each domain, with their net result.
///
/// Take the change sets that `next` finds, newest first, and then commit:
///
///     var plan = UndoPlan(agent, of: filter)
///     while let found = try plan.next(), isWanted(found) { try plan.take(found) }
///     for outcome in plan.outcomes { _ = try plan.commit(outcome.domain) }
package struct UndoPlan {
    private let source: any HistorySource
    private let filter: SubscriptionFilter
    private let subject: UndoSearch.Subject
    private var search: UndoSearch
    /// The program on whose behalf the edits are made, if that isn't this one.
    package var program: String?
    private var nets: [Net] = []
    /// The first edit that has been made.
    private var first: Revision?

    /// Creates a plan without any change sets.
    ///
    /// - Parameters:
    ///   - source: The source of the history, which also makes the edits.
    ///   - filter: The domains and keys to work on.
    ///   - subject: The change sets to find.
    /// - Throws: The errors of the reader of the history.
    package init(
        _ source: any HistorySource, of filter: SubscriptionFilter = SubscriptionFilter(),
        finding subject: UndoSearch.Subject = .changes
    ) throws(DefaultsError) {
        (self.source, self.filter, self.subject) = (source, filter, subject)
        search = UndoSearch(try HistoryReader(source, matching: filter), for: subject)
    }

    /// The outcome in one domain.
    package struct Outcome: Hashable, Sendable {
        package var domain: Domain
        /// The changes, from the present to the former values, sorted by key.
        package var changes: [KeyChange] = []
        /// The keys that have been changed later, so that a change to them stays, with the later change if the history
        /// has it.
        package var kept: [String: LogRecord?] = [:]
        /// Whether some change sets have keys that are excluded from the history, and so stay as they are.
        package var hasExcludedKeys = false
    }

    /// The net result of the chosen change sets in one domain.
    private struct Net {
        let domain: Domain
        /// The values before the edit.
        let present: DomainValues
        /// The values after it.
        var result: DomainValues
        var chosen: [UndoSearch.Found] = []
        /// The revision of the oldest change of each key that is undone.
        var oldest: [String: Revision] = [:]
        var kept: [String: LogRecord?] = [:]

        var outcome: Outcome {
            let changes = oldest.keys.sorted()
                .filter { !PropertyListValue.areSame(result[$0], inEffect: present[$0]) }
                .map { KeyChange(key: $0, old: present[$0], new: result[$0]) }
            return Outcome(
                domain: domain, changes: changes, kept: kept,
                hasExcludedKeys: chosen.contains { $0.element.record.hasExcludedKeys })
        }
    }

    /// The outcomes in all domains, the one with the newest change set first.
    package var outcomes: [Outcome] { nets.map(\.outcome) }

    /// The reason why older change sets can't be found; see `HistoryReader`.
    package var problem: DefaultsError? { search.problem }

    /// The changes that can't be found because they have been thinned out; see `HistoryReader`.
    package var thinned: ThinnedChanges { search.thinned }

    /// The records passed so far that stand for unknown changes, made while no agent was running; they stay.
    package var unknown: [LogRecord] { search.unknown }

    /// Finds the next change set; see `UndoSearch`.
    package mutating func next(
        orNamed isNamed: (LogRecord) -> Bool = { _ in false }
    ) throws(DefaultsError) -> UndoSearch.Found? {
        try search.next(orNamed: isNamed)
    }

    /// Adds the change set that was found last, except for keys that have been changed later.
    package mutating func take(_ found: UndoSearch.Found) throws(DefaultsError) {
        let element = found.element
        let index: Int
        if let known = nets.firstIndex(where: { $0.domain == element.record.domain }) {
            index = known
        } else {
            let present = try source.snapshot(of: element.record.domain).values
            nets.append(Net(domain: element.record.domain, present: present, result: present))
            index = nets.count - 1
        }
        nets[index].chosen.append(found)
        var taken = element.canceled.subtracting(found.overtaken)
        for key in element.canceled.intersection(found.overtaken) { markKept(key, in: index) }
        for change in element.changeSet.changes {
            if found.overtaken.contains(change.key) {
                markKept(change.key, in: index)
                continue
            }
            switch change.isInEffect(nets[index].result[change.key]) {
            case true?:
                nets[index].result[change.key] = change.old
                taken.insert(change.key)
            case false?: break
            case nil: markKept(change.key, in: index)
            }
        }
        for key in taken { nets[index].oldest[key] = element.record.revision }
        search.remove(taken, of: found)
    }

    /// Records that a change to a key stays.
    private mutating func markKept(_ key: String, in index: Int) {
        if nets[index].kept[key] == nil {
            nets[index].kept[key] = .some(search.lastChange(of: key, in: nets[index].domain))
        }
    }

    /// Makes the edit in a domain, unless it changes nothing.
    ///
    /// The edit is made on the condition that its keys still have the values that it replaces. If another program has
    /// changed them, the history is read again.
    ///
    /// - Returns: The outcome.
    /// - Throws: `DefaultsError` if the edit is refused, or the agent is gone.
    package mutating func commit(_ domain: Domain) throws(DefaultsError) -> Outcome {
        while true {
            guard let net = nets.first(where: { $0.domain == domain }) else { return Outcome(domain: domain) }
            let outcome = net.outcome
            guard !outcome.changes.isEmpty, let newest = net.chosen.first?.element.cursor else { return outcome }
            var reach = UndoReach(oldest: net.oldest, first: first)
            for change in outcome.changes where net.oldest[change.key] == newest.revision {
                reach.oldest[change.key] = nil
            }
            do throws(DefaultsError) {
                let purpose: Origin.Purpose = subject == .undos ? .redo(newest, reach) : .undo(newest, reach)
                let made = try source.make(
                    EditRequest(outcome.changes, to: domain, by: Origin(program: program, purpose: purpose)))
                if first == nil { first = made.revision }
                return outcome
            } catch {
                guard error.code == .changed else { throw error }
                try choose(again: net)
            }
        }
    }

    /// Chooses a domain's change sets again, with the present history and values.
    private mutating func choose(again net: Net) throws(DefaultsError) {
        let revisions = Set(net.chosen.map(\.element.record.revision))
        var again = try UndoPlan(source, of: filter, finding: subject)
        while let found = try again.next(orNamed: { revisions.contains($0.revision) }) {
            if revisions.contains(found.element.record.revision) { try again.take(found) }
            if found.element.record.revision <= revisions.min() ?? 0 { break }
        }
        nets.removeAll { $0.domain == net.domain }
        nets += again.nets
    }
}

extension KeyChange {
    /// Returns whether a value is the change's result; `nil` if it is neither that nor the former value.
    fileprivate func isInEffect(_ value: PropertyListValue?) -> Bool? {
        if PropertyListValue.areSame(new, inEffect: value) { return true }
        return PropertyListValue.areSame(old, inEffect: value) ? false : nil
    }
}

extension EditRequest {
    /// Creates an edit that makes changes on the condition that their keys still have the old values.
    fileprivate init(_ changes: [KeyChange], to domain: Domain, by origin: Origin) {
        self.init(
            domain: domain, values: Difference(changes.map { ($0.key, $0.new) }) { $1 }, replacesAll: false,
            writer: .app(.current), expecting: Difference(changes.map { ($0.key, $0.old) }) { $1 },
            origin: origin)
    }
}

extension Backend {
    /// Undoes a change set by its values alone: each change whose new value is in effect.
    ///
    /// - Parameters:
    ///   - changeSet: The change set.
    ///   - purpose: The purpose of the edit, which the history records.
    ///   - program: The program on whose behalf the edit is made, if that isn't this one.
    ///   - isDry: Whether nothing is changed.
    /// - Returns: The changes made, and the keys left alone.
    /// - Throws: `DefaultsError` if the edit is refused, or the agent is gone.
    package func takeBack(
        _ changeSet: ChangeSet, for purpose: Origin.Purpose, by program: String? = nil, isDry: Bool = false
    ) throws(DefaultsError) -> UndoPlan.Outcome {
        while true {
            let present = try snapshot(of: changeSet.domain).values
            var outcome = UndoPlan.Outcome(domain: changeSet.domain)
            for change in changeSet.changes {
                let value = present[change.key]
                switch change.isInEffect(value) {
                case true?: outcome.changes.append(KeyChange(key: change.key, old: value, new: change.old))
                case false?: break
                case nil: outcome.kept[change.key] = .some(nil)
                }
            }
            if isDry || outcome.changes.isEmpty { return outcome }
            let origin = Origin(program: program, purpose: purpose)
            let request = EditRequest(outcome.changes, to: changeSet.domain, by: origin)
            do throws(DefaultsError) {
                try edit(
                    request.domain, with: request.values, replacesAll: false, expecting: request.expecting,
                    origin: origin)
                return outcome
            } catch {
                // Another program changed the keys first.
                guard error.code == .changed else { throw error }
            }
        }
    }
}
