import DefaultsCore
import PropertyList

/// The way from the agent to the fleet.
extension Connector {
    /// Passes on all records that have come.
    func followAgent() throws(DefaultsError) {
        while let event = try agent.nextEvent(within: 0) { try handle(event) }
        try compareUnknown()
        try settleAway()
    }

    /// Passes on all records up to a position.
    func follow(to cursor: Cursor) throws(DefaultsError) {
        while state.cursor.map({ $0.epoch == cursor.epoch && $0.revision >= cursor.revision }) != true {
            guard let event = try agent.nextEvent(within: 10_000) else {
                throw DefaultsError(.agentUnavailable, "Timed out waiting for the agent's changes.")
            }
            try handle(event)
        }
        try compareUnknown()
    }

    private func handle(_ event: StreamEvent) throws(DefaultsError) {
        switch event {
        case .record(let record, let cursor):
            position = cursor
            try pass(record, at: cursor)
            move(to: cursor)
        case .bookmark(let cursor): move(to: cursor)
        case .initial(let snapshot):
            hasGap = true
            move(to: snapshot.cursor)
        case .gap(_, let cursor):
            hasGap = true
            move(to: cursor)
        case .ended: throw DefaultsError(.agentUnavailable, "The agent has ended the stream.")
        }
    }

    func move(to cursor: Cursor) {
        // The first of several snapshots have none.
        guard cursor != .ofNoLog, cursor != state.cursor else { return }
        if cursor.epoch != state.cursor?.epoch {
            answers = []
            sent = [:]
        }
        state.cursor = cursor
        position = nil
        isChanged = true
        confirmAnswers()
    }

    func confirmAnswers() {
        guard let cursor = state.cursor else { return }
        while let answer = answers.first, answer.cursor.revision <= cursor.revision {
            state.replica.confirm(answer.values)
            for (key, value) in answer.values where state.replica.unconfirmed[key] == nil { state.know(key, as: value) }
            answers.removeFirst()
        }
    }

    private func pass(_ record: LogRecord, at cursor: Cursor) throws(DefaultsError) {
        for (key, edit) in sent where edit.cursor == cursor && !isRecorded(key, as: edit.value, in: record) {
            isCopied = true
        }
        guard record.domain.user == .current, record.domain.host == .any else { return }
        let domain = record.domain.name.description
        guard rules.includes(domain) else { return }
        if state.counts.begin(record.time.milliseconds) { isChanged = true }
        let isOwn = record.changeSet?.origin?.purpose?.texts.name == Self.purpose
        if let changeSet = record.changeSet {
            try pass(changeSet, isOwn: isOwn, of: domain, at: time(of: record), until: cursor)
        }
        // Some keys have changed that the record doesn't name.
        if case .unknown = record.event { unknown[domain] = max(unknown[domain] ?? 0, time(of: record)) }
    }

    private func pass(
        _ changeSet: ChangeSet, isOwn: Bool, of domain: String, at milliseconds: UInt64, until cursor: Cursor
    ) throws(DefaultsError) {
        var changes = changeSet.changes
        if changeSet.source == .file, !isOwn {
            if try goesAway(domain, with: changes, at: milliseconds) { return }
            changes = edits(among: changes, of: domain, at: milliseconds)
        }
        if isOwn { confirm(changes, of: domain) } else { send(changes, of: domain, at: milliseconds, cursor) }
        if domain == TravelRules.list.description {
            try readList(after: changes, isOwn: isOwn) { _ in milliseconds }
        }
    }

    /// Returns whether a record may be that of an edit.
    private func isRecorded(_ key: FleetKey, as value: PropertyListValue?, in record: LogRecord) -> Bool {
        let domain = record.domain
        guard domain.user == .current, domain.host == .any, domain.name.description == key.domain else { return false }
        guard let change = record.changeSet?.changes.first(where: { $0.key == key.key }) else {
            // The file of the history doesn't have every key.
            guard case .unknown = record.event else { return false }
            return true
        }
        return change.new == value
    }

    private func confirm(_ changes: [KeyChange], of domain: String) {
        var new: [FleetKey: PropertyListValue?] = [:]
        var former: [FleetKey: PropertyListValue?] = [:]
        for change in changes {
            new[FleetKey(domain, change.key)] = .some(change.new)
            former[FleetKey(domain, change.key)] = .some(change.old)
        }
        state.replica.confirm(new, replacing: former)
        for (key, value) in new where state.replica.unconfirmed[key] == nil {
            state.know(key, as: value)
            state.delayed[key] = nil
        }
        isChanged = true
    }

    private func send(_ changes: [KeyChange], of domain: String, at milliseconds: UInt64, _ cursor: Cursor) {
        var edits: [FleetKey: PropertyListValue?] = [:]
        for change in changes {
            let key = FleetKey(domain, change.key)
            guard reason(against: key) == nil else { continue }
            state.counts.add(key)
            if rules.reason(against: key, changes: state.counts[key]) == nil {
                edits[key] = .some(change.new)
            } else {
                // The last edit of a busy key is sent when the day has ended.
                state.delayed[key] = milliseconds
            }
            isChanged = true
        }
        let passed = edits.keys.filter { sent[$0].map { cursor.revision <= $0.cursor.revision } ?? false }
        // A later edit of this machine, without a record, may still have to be set.
        state.replica.pass(over: passed.filter { [state, sent] in state.replica.newest[$0] == sent[$0]?.stamp })
        for key in passed { edits[key] = nil }
        record(edits, at: milliseconds, cursor)
    }

    func record(
        _ edits: [FleetKey: PropertyListValue?], at milliseconds: UInt64, _ cursor: Cursor? = nil,
        knowingAll knowsAll: Bool = false
    ) {
        if edits.isEmpty { return }
        unsent.append(
            state.replica.record(
                edits, at: milliseconds, cursor: cursor?.description, knowingAll: knowsAll))
        for (key, value) in edits {
            state.know(key, as: value)
            state.delayed[key] = nil
            if isApproval(key) { state.files.needsSnapshot = true }
            overruleIfLate(key)
        }
        isChanged = true
    }

    /// Records whether an edit that was made here has lost: another machine's may be newer.
    func overruleIfLate(_ key: FleetKey) {
        if let winner = state.replica.newest[key], !state.replica.isOwn(winner) {
            overrule(key, by: winner)
        } else {
            state.overruled.removeAll { $0.key == key }
        }
    }

    /// Returns whether an edit that was made here approves another machine, which begins with what this one has.
    func isApproval(_ key: FleetKey) -> Bool {
        key.domain == TravelRules.machines.description && key.key != machine.text
    }

    /// The time of a change in milliseconds: an edit of a file while no agent ran is older than its record.
    private func time(of record: LogRecord) -> UInt64 {
        if case .app? = record.changeSet?.source { return record.time.milliseconds }
        return min(record.time, agent.fileTime(of: record.domain.name) ?? record.time).milliseconds
    }

    /// Sends the last edits of keys that changed too often on a day, once it has ended, after all records up to now.
    func sendDelayed() throws(DefaultsError) {
        if state.counts.begin(agent.now.milliseconds) { isChanged = true }
        func isDue(_ key: FleetKey) -> Bool { state.delayed[key].map(DailyCounts.day) != state.counts.day }
        guard state.delayed.keys.contains(where: isDue) else { return }
        try follow(to: agent.barrier(of: nil))
        try sendDelayed(where: isDue)
    }

    /// Sends the last edits of some keys that changed too often.
    func sendDelayed(where isDue: (FleetKey) -> Bool) throws(DefaultsError) {
        for (domain, keys) in Dictionary(grouping: state.delayed.keys.filter(isDue), by: \.domain) {
            let snapshot = try agent.snapshot(of: try DomainName(domain))
            // Until the file is repaired, nobody knows its values.
            if snapshot.damage != nil { continue }
            let values = snapshot.values
            for key in keys where !isAway(key, with: values) {
                let hasChanged = state.hasChanged(key, to: values[key.key]) || state.replica.unconfirmed[key] != nil
                if hasChanged, reason(against: key) == nil {
                    record([key: values[key.key]], at: state.delayed[key] ?? 0)
                }
                state.delayed[key] = nil
                isChanged = true
            }
        }
    }

    /// Reads the list of what travels, after it has changed.
    ///
    /// Keys that are added here travel with the values that they have here; for keys that are added elsewhere, this
    /// machine sends what no other machine has.
    ///
    /// - Parameters:
    ///   - changes: The changes of the list.
    ///   - isOwn: Whether the connector itself has made them.
    ///   - time: The time of their effect on a domain, in milliseconds, which may be long ago.
    /// - Throws: If the agent can't be used.
    func readList(
        after changes: [KeyChange], isOwn: Bool, at time: (DomainName) -> UInt64
    ) throws(DefaultsError) {
        let former = rules
        // A file that was damaged may have what it had before.
        let changes = changes.filter { state.list[$0.key] != $0.new }
        for change in changes { state.list[change.key] = change.new }
        rules = TravelRules(state.list)
        isChanged = true
        func isListed(_ key: FleetKey, by rules: TravelRules) -> Bool { rules.reason(against: key) == nil }
        // The newest snapshot doesn't have edits of keys that come to travel only now.
        if state.files.snapshot > 0,
            state.replica.newest.keys.contains(where: { !isListed($0, by: former) && isListed($0, by: rules) })
        {
            state.files.needsRepair = true
        }
        func wasHeld(_ key: FleetKey) -> Bool { former.reason(against: key, scope: scope(key)) != nil }
        let patterns = Set(changes.map { TravelRules.Entry($0.key).domain }).map { GlobPattern($0) }
        for domain in try domains() where patterns.contains(where: { $0.matches(domain) }) {
            // Values from before lose to every edit.
            let milliseconds = isOwn ? 0 : time(try DomainName(domain))
            try compare(domain, as: isOwn ? .release : .addition, at: milliseconds, where: wasHeld)
        }
        // Somebody may have named a busy key.
        try sendDelayed { rules.reason(against: $0, changes: state.counts[$0]) == nil }
        // The files that are there may have values of keys that were removed.
        if state.replica.newest.keys.contains(where: { isListed($0, by: former) && !isListed($0, by: rules) }) {
            state.files.needsSnapshot = true
        }
    }

    /// The domains of which keys may travel, those without values, too; except for the list of what travels.
    func domains() throws(DefaultsError) -> [String] {
        Set(try agent.domains().map(\.description)).union(state.replica.newest.keys.map(\.domain))
            .filter { rules.includes($0) && !TravelRules.isOwn($0) }.sorted()
    }
}
