import PropertyList

extension StoreState {
    /// Returns a plan for saving a domain; `nil` if no edit up to a given sequence number is pending.
    func plan(for domain: Domain, upTo sequence: UInt64 = .max) -> SavePlan? {
        guard let state = domains[domain], state.merge.pending.values.contains(where: { $0.sequence <= sequence })
        else { return nil }
        return SavePlan(
            edits: state.merge.pending, base: state.merge.base, format: state.format,
            expected: state.damage.map(\.version) ?? state.file, damage: state.damage,
            losesEquivalentKeys: state.equivalentKeys != nil && state.equivalentKeys == state.file?.hash,
            sessions: outbox == nil ? sessions(of: state.merge.pending.values) : nil, revision: log.head,
            total: state.merge.versions.total)
    }

    /// Returns the last edits of the sessions that made some edits, newest first.
    private func sessions(of edits: some Sequence<Edit>) -> [EditIdentity] {
        let sessions = Set(edits.compactMap(\.identity?.session))
        return sessions.isEmpty ? [] : appliedEdits.newestFirst.filter { sessions.contains($0.session) }
    }

    /// Records that a file is about to be replaced, in case of a crash before `markSaved`.
    ///
    /// - Parameters:
    ///   - plan: The plan of the save.
    ///   - domain: The domain to save.
    ///   - hash: The hash of the new version; `nil` if the file is removed.
    ///   - isInPlace: Whether the file itself is written. Even before its content changes, its times then do, so they
    ///     don't tell whether another program has written it.
    mutating func willSave(_ plan: SavePlan, for domain: Domain, hash: ContentHash?, isInPlace: Bool = false) {
        var mark = FileMark(
            domain: domain, hash: hash, revision: plan.revision,
            lost: (domains[domain]?.lostChangeSets ?? []).filter { $0 >= log.oldest }, isIntent: true,
            expected: isInPlace ? nil : plan.expected?.identity.stamp)
        outbox?.append(.mark(mark))
        // For the mark that repeats this one while later edits are pending.
        mark.complete = plan.excess == nil ? plan.revision : domains[domain]?.complete ?? 0
        domains[domain]?.intent = (mark, plan.edits)
    }

    /// Records that a plan has been carried out.
    mutating func markSaved(
        _ plan: SavePlan, for domain: Domain, as version: FileVersion?, format: PropertyListFormat,
        replacesUnread: Bool, now: Timestamp
    ) -> [StoreAction] {
        if outbox != nil, let expected = plan.expected {
            let mark = FileMark(
                domain: domain, hash: expected.hash, revision: plan.revision,
                pending: plan.edits.filter { !exclusions.exclude($0.key, of: domain) },
                lost: Set(plan.edits.values.compactMap(\.partlyLogged)), complete: domains[domain]?.complete ?? 0)
            replaced[domain, default: []].append(mark.ofReplacedVersion)
        }
        domains[domain, default: DomainState()].merge.markSaved(
            plan.edits, at: plan.newest ?? now, placedAt: version?.identity.changed, replacesUnread: replacesUnread,
            hashed: version?.hash)
        domains[domain]?.setFile(version)
        domains[domain]?.unread = replacesUnread ? plan.expected?.hash : nil
        domains[domain]?.format = format
        if plan.excess == nil {
            domains[domain]?.complete = plan.revision
            domains[domain]?.failure = nil
        }
        recordMarks(of: domain)
        let report = reportResolution(of: domain, at: now)
        return report + (domains[domain]?.merge.pending.isEmpty == false ? [.save(domain, .delayed)] : [])
    }

    /// Records that a plan has been carried out, but that the result may not be durable.
    ///
    /// The edits stay pending, and are saved again on top of this version.
    mutating func markSavedUnsafely(_ domain: Domain, as version: FileVersion?) {
        domains[domain]?.setFile(version)
    }

    /// Records that a domain's edits couldn't be saved.
    mutating func failed(_ domain: Domain, because error: DefaultsError, now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], !state.merge.pending.isEmpty, state.failure != error else { return [] }
        domains[domain]?.failure = error
        domains[domain]?.isTroubled = true
        // Otherwise, every start that fails to save would append the marks again.
        if !state.isTroubled { recordMarks(of: domain) }
        return publish(.unsaved(domain, reason: error.description), at: now)
    }

    /// Reports the end of a domain's problems, once they are over.
    mutating func reportResolution(of domain: Domain, at now: Timestamp) -> [StoreAction] {
        guard let state = domains[domain], state.isTroubled, state.damage == nil, state.failure == nil else {
            return []
        }
        domains[domain]?.isTroubled = false
        let actions = publish(.recovered(domain), at: now)
        // After the record; otherwise, the next start would append the mark again.
        recordMarks(of: domain)
        return actions
    }
}

/// A plan for saving a domain, made at one moment.
struct SavePlan {
    /// The edits that the new version includes.
    var edits: [String: Edit]
    /// The values that the edits change; emptied once the new version is encoded, so that they needn't be copied.
    var base: DomainValues
    var format: PropertyListFormat
    /// The state of the file to replace.
    var expected: FileVersion?
    /// The reason why the file to replace can't be used, so that it must be backed up first; `nil` if it can.
    var damage: FileDamage?
    /// Whether the file to replace has keys that the new version lacks, so that it must be backed up first.
    var losesEquivalentKeys: Bool
    /// The last edits of each session that the new version reflects; `nil` if a log has them.
    var sessions: [EditIdentity]?
    /// The revision of the last log record that the new version reflects.
    var revision: Revision
    /// The number of keys in the new version; 0 to remove the file.
    var count: Int {
        edits.reduce(base.count) { count, edit in
            count + (edit.value.value == nil ? 0 : 1) - (base[edit.key] == nil ? 0 : 1)
        }
    }
    /// The time of the newest of the edits.
    var newest: Timestamp? { edits.values.map(\.time).max() }
    /// `versions.total` before the new version.
    var total: Int
    /// The reason why edits are left out that would make the file too large; `nil` if none are.
    var excess: DefaultsError?

    /// The keys of edits made together, with the estimated number of bytes by which these make the file larger, in
    /// ascending order.
    var groupsByGrowth: [(keys: [String], growth: Int)] {
        func size(of key: String, with value: PropertyListValue?) -> Int {
            value.map { key.utf8.count + $0.estimatedSize } ?? 0
        }
        let groups = Dictionary(grouping: edits.keys) { edits[$0]?.sequence ?? Edit.unordered }
            .flatMap { sequence, keys in sequence == Edit.unordered ? keys.map { [$0] } : [keys] }
        return groups.map { keys in
            (keys, keys.reduce(0) { $0 + size(of: $1, with: edits[$1]?.value) - size(of: $1, with: base[$1]) })
        }.sorted { $0.growth < $1.growth }
    }

    /// Returns the values of the new version; this copies all of them.
    func values() -> DomainValues {
        var values = base
        for (key, edit) in edits { values[key] = edit.value }
        return values
    }
}
