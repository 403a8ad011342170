import Manifests
import PropertyList

extension StoreState {
    /// Applies an app's edits; returns the revision of their record, or the log's head if nothing changed.
    mutating func edit(_ request: EditRequest, now: Timestamp) -> (revision: Revision, actions: [StoreAction]) {
        if let identity = request.identity {
            if appliedEdits.holds(identity) { return (log.head, []) }
            appliedEdits.insert(identity)
        }
        lastSequence += 1
        var values = request.values
        var state = domains[request.domain] ?? DomainState()
        state.merge.parseBase()
        if request.replacesAll {
            for key in state.merge.current.keys where values[key] == nil { values[key] = .some(nil) }
        }
        // A conditional edit counts as made when its condition is checked, however long it was in transit.
        let time = request.expecting == nil ? min(request.time, now) : now
        if let former = request.replacing {
            values = state.merge.notOverruled(
                values, setAt: time, by: request.writer, replacing: former, readFrom: state.format)
        }
        let former = state.merge.pending
        let changes = state.merge.edit(
            values, time: time, writer: request.writer, sequence: lastSequence,
            identity: request.expecting == nil ? request.identity : nil)
        let isNew = domains[request.domain] == nil
        if !isNew || !changes.isEmpty { domains[request.domain] = consume state }
        if changes.isEmpty {
            // If the edit is sent to the next agent again, it may not undo what others have changed since.
            if outbox != nil, let edit = request.identity { unrecorded[edit.session] = edit.number }
            return (log.head, [])
        }
        let changeSet = ChangeSet(
            domain: request.domain, source: request.writer, changes: changes, edit: request.identity,
            origin: request.origin)
        let actions = publish(.change(changeSet), at: now, madeAt: time)
        if !exclusions.isEmpty, changes.contains(where: { exclusions.exclude($0.key, of: request.domain) }) {
            for change in changes {
                let replaced = former[change.key].map { $0.lostWithAgent == nil ? [$0] : $0.former } ?? []
                domains[request.domain]?.merge.pending[change.key]?.inLog = .nothing(log.head)
                domains[request.domain]?.merge.pending[change.key]?.former = replaced
            }
        }
        // The log's file must know every domain, even one without a file, and which edits were made while a file was
        // missing.
        if isNew || domains[request.domain]?.missingSince != nil { recordMarks(of: request.domain) }
        return (log.head, actions + [.save(request.domain, .delayed)])
    }

    /// Returns the keys that already have the edit's value, with no save pending.
    func unchanged(by request: EditRequest) -> [String] {
        guard var merge = domains[request.domain]?.merge else { return [] }
        merge.parseBase()
        return request.values.keys.filter {
            merge.pending[$0] == nil && request.values[$0] == .some(merge.current($0))
        }
    }

    /// Makes an edit's values pending even though they are already in effect, since the file may have lost them.
    mutating func makePending(_ request: EditRequest, now: Timestamp) -> [StoreAction] {
        let keys = unchanged(by: request)
        if keys.isEmpty { return [] }
        lastSequence += 1
        for key in keys {
            domains[request.domain]?.merge.pending[key] = Edit(
                value: request.values[key] ?? nil, time: min(request.time, now), writer: request.writer,
                sequence: lastSequence, identity: request.expecting == nil ? request.identity : nil)
        }
        recordMarks(of: request.domain)
        return [.save(request.domain, .delayed)]
    }

    /// Returns the reason why a store refuses an otherwise valid edit.
    func refusal(of request: EditRequest, by lifetime: StoreLifetime, now: Timestamp) -> DefaultsError? {
        if let damage = domains[request.domain]?.damage, damage.isProtected { return damage.refusal }
        // A process without an agent always waits for its own edits to finish, so none can be late.
        if lifetime == .resident, isLate(request, now: now) {
            return DefaultsError(
                .late,
                "An edit of \(request.domain) arrived seconds after it was made, and others have written since. It "
                    + "was discarded.",
                remedy: "Set the value again; in the protocol, under another number and without \"time\".")
        }
        if conditionFails(request) { return .condition(of: request.domain) }
        return enforcementRefusal(of: request)
    }

    /// Returns the reason why an enforced manifest forbids an edit that hasn't been applied yet; `nil` if none does.
    ///
    /// A rule about several keys forbids nothing, since they may be set one after the other.
    private func enforcementRefusal(of request: EditRequest) -> DefaultsError? {
        guard let entry = manifests.entry(for: request.domain.name), entry.isEnforced,
            !(request.identity.map(appliedEdits.holds) ?? false)
        else { return nil }
        var merge = domains[request.domain]?.merge ?? Merge()
        merge.parseBase()
        let old = request.replacesAll || entry.manifest.needsOthers(for: request.values.keys) ? merge.current : [:]
        var values = request.replacesAll ? [:] : old
        for (key, value) in request.values { values[key] = value }
        // Values that stay as they are aren't this edit's.
        let keys = Set(request.values.keys).union(request.replacesAll ? Array(old.keys) : [])
            .filter { merge.current($0) != values[$0] }
        var former = old
        for key in keys { former[key] = merge.current(key) }
        let violation = entry.manifest
            .violations(of: keys, from: former, to: values, limitedTo: Violation.Rule.ofOneValue)
            .first { keys.contains($0.key) }
        guard let violation else { return nil }
        return .enforcement(of: violation, for: request.domain, by: entry.path)
    }

    /// Returns the values that would be in effect after a large edit if they may be too large for a file, and the
    /// format of the file; `nil` if they fit, or if the edit doesn't make them larger.
    func valuesToCheck(_ request: EditRequest, limit: Int) -> (values: DomainValues, format: PropertyListFormat)? {
        // Small edits aren't worth the time.
        guard EditRequest.estimatedSize(of: request.values) > 65_536,
            !(request.identity.map(appliedEdits.holds) ?? false)
        else { return nil }
        let state = domains[request.domain] ?? DomainState()
        let old = state.merge.current
        var new = request.replacesAll ? [:] : old
        for (key, value) in request.values { new[key] = value }
        let size = PropertyListValue.dictionary(new).estimatedSize
        // Text may take twice as many bytes in a file.
        guard size > limit / 2, size > PropertyListValue.dictionary(old).estimatedSize else { return nil }
        return (new, state.format)
    }

    /// Returns whether an edit arrived after its client stopped waiting for it, and others have changed the domain
    /// since.
    ///
    /// More precisely, others have set some of the edit's keys, or written the file. An agent that was stopped for a
    /// while finds such edits in its sockets. Their values are already in effect by way of the file, or will be resent
    /// together with the values that they replace.
    func isLate(_ request: EditRequest, now: Timestamp) -> Bool {
        guard let identity = request.identity, request.replacing == nil, request.expecting == nil,
            let state = domains[request.domain],
            request.time.nanoseconds < now.nanoseconds - Self.lateness, !appliedEdits.holds(identity)
        else { return false }
        let standing = state.merge.notOverruled(
            request.values, setAt: request.time, by: request.writer, replacing: nil, readFrom: state.format)
        return standing.count < request.values.count
    }

    /// Returns whether an edit that hasn't been applied yet has a condition that doesn't hold.
    func conditionFails(_ request: EditRequest) -> Bool {
        guard let expected = request.expecting, !(request.identity.map(appliedEdits.holds) ?? false) else {
            return false
        }
        var merge = domains[request.domain]?.merge ?? Merge()
        merge.parseBase()
        return expected.contains { key, value in merge.current(key) != value }
    }

    /// The age at which an edit is late, in nanoseconds: a little less than the time that a client waits for a reply.
    private static let lateness: Int64 = 4_000_000_000
}
