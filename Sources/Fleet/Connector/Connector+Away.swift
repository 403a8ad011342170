import DefaultsCore
import PropertyList

/// A domain whose values are all gone with its file, without anyone having removed them one by one: its directory is
/// away, its disk isn't mounted, or a tool has cleaned up.
package struct AwayDomain: Hashable, Sendable {
    /// The time at which it went, in milliseconds since 1970.
    package var since: UInt64
    /// The hashes of the travelling values that it had.
    var hashes: [String: ContentHash]
    /// The values that it had, if it is one of the fleet's own domains.
    var values: DomainValues?
    /// Whether it has been away for so long that its removal counts.
    package var isSettled = false
}

/// Files that go and come as a whole, which is no decision about their values.
///
/// A key that is missing in a file that is still there was removed. A domain that goes waits for a minute, in which its
/// values don't count as removed. After that, they are removed on all machines; but the fleet's own domains are written
/// again. If the file ever comes back, its values have the times that they had: they don't replace what was edited
/// meanwhile.
extension Connector {
    /// The time for which a domain may be away before its removal counts, in milliseconds.
    private static let patience: UInt64 = 60_000

    /// Records that a domain is away, if changes that a foreign writer has made leave none of its travelling values.
    ///
    /// - Returns: Whether it is.
    /// - Throws: If the agent can't be used.
    func goesAway(
        _ domain: String, with changes: [KeyChange], at milliseconds: UInt64
    ) throws(DefaultsError) -> Bool {
        guard changes.allSatisfy({ $0.new == nil }) else { return false }
        let former = Dictionary(changes.map { ($0.key, $0.old) }) { $1 }
        let hashes = knownHashes(of: domain)
        guard !hashes.isEmpty, hashes.keys.allSatisfy({ former[$0] != nil }) else { return false }
        // A write is in the log before it makes a file. So a file that is there before its values are asked for, as of
        // this very record, is the one from which these were removed.
        let name = try DomainName(domain)
        let hasFile = agent.fileTime(of: name) != nil
        let snapshot = try agent.snapshot(of: name)
        let isCurrent = position.map { snapshot.cursor.revision <= $0.revision } ?? true
        if hasFile, isCurrent, snapshot.damage == nil, changes.count == 1 || !snapshot.values.isEmpty { return false }
        let away = AwayDomain(since: milliseconds, hashes: hashes)
        return goesAway(domain, as: away, having: former.compactMapValues(\.self))
    }

    /// Records that a domain is away; returns whether it had travelling values.
    func goesAway(_ domain: String, as away: AwayDomain, having values: DomainValues?) -> Bool {
        if away.hashes.isEmpty { return false }
        // A file that comes back is compared with what it was when it went first.
        if state.away[domain]?.isSettled == false { return true }
        var away = away
        if TravelRules.isOwn(domain) { away.values = values }
        state.away[domain] = away
        isChanged = true
        return true
    }

    /// Returns whether a key may have no value only because its domain is away.
    func isAway(_ key: FleetKey, with values: DomainValues) -> Bool {
        values[key.key] == nil && state.away[key.domain]?.isSettled == false
    }

    func knownHashes(of domain: String) -> [String: ContentHash] {
        var hashes: [String: ContentHash] = [:]
        for (key, hash) in state.known where key.domain == domain { hashes[key.key] = hash }
        return hashes
    }

    /// Returns whether a domain that went is the same again, by its file's time or its values' hashes.
    func isBack(_ domain: String, at milliseconds: UInt64, hashes hash: (String) -> ContentHash?) -> Bool {
        guard let away = state.away[domain] else { return false }
        if milliseconds <= away.since { return true }
        // A single value may have been set to what it was.
        return away.hashes.count > 1 && away.hashes.allSatisfy { hash($0) == $1 }
    }

    /// Returns those of a foreign writer's changes that are edits: others bring back what a file had before it went.
    func edits(among changes: [KeyChange], of domain: String, at milliseconds: UInt64) -> [KeyChange] {
        guard let away = state.away[domain] else { return changes }
        let new = Dictionary(changes.map { ($0.key, $0.new.map(ConnectorState.hash)) }) { $1 }
        let isBack = isBack(domain, at: milliseconds) { new[$0] ?? state.known[FleetKey(domain, $0)] }
        if away.isSettled, !isBack { return changes }
        let edits = changes.filter { change in
            let key = FleetKey(domain, change.key)
            guard reason(against: key) == nil else { return true }
            // It is what the fleet has.
            guard state.hasChanged(key, to: change.new) else { return false }
            guard isBack, isOutdated(key, being: change.new, at: milliseconds) else { return true }
            state.replica.restore(key, to: change.old)
            return false
        }
        if away.isSettled { state.away[domain] = nil }
        isChanged = true
        return edits
    }

    /// Returns whether a value that has come back with its domain is older than the key's newest edit, and records an
    /// edit that loses by that.
    func isOutdated(_ key: FleetKey, being value: PropertyListValue?, at milliseconds: UInt64) -> Bool {
        guard let away = state.away[key.domain], let newest = state.replica.newest[key] else { return false }
        // This machine has removed it, since the domain was away.
        if state.replica.isOwn(newest), state.known[key] == nil { return false }
        if away.hashes[key.key] == value.map(ConnectorState.hash) { return true }
        guard newest.milliseconds > milliseconds else { return false }
        overrule(key, by: newest)
        return true
    }

    /// Ends the wait for domains that have come back, or have been away for long enough.
    func settleAway() throws(DefaultsError) {
        problems = problems.filter { if case .away = $0.value { false } else { true } }
        guard state.away.values.contains(where: { !$0.isSettled }) else { return }
        let here = try agent.domains()
        // A settled domain is remembered until the file comes back.
        for (domain, away) in state.away.sorted(by: { $0.key < $1.key }) where !away.isSettled {
            let name = try DomainName(domain)
            let snapshot = try agent.snapshot(of: name)
            if snapshot.damage != nil { continue }
            let absent = away.hashes.keys.map { FleetKey(domain, $0) }.filter { key in
                isAway(key, with: snapshot.values) && reason(against: key) == nil
            }
            isChanged = true
            if absent.isEmpty {
                state.away[domain] = nil
                continue
            }
            let missing = absent.filter { state.known[$0] != nil }
            // An empty directory may be where another one is mounted.
            let isLong = agent.now.milliseconds >= away.since + Self.patience
            let mayBeMountPoint = TravelRules.isOwn(domain) && !here.contains { $0.description != domain }
            // Later edits by other machines are set here, whatever happens to the file.
            let rest = missing.filter { key in
                state.replica.unconfirmed[key].map { $0.stamp.milliseconds <= away.since } ?? true
            }
            if missing.isEmpty || isLong && !mayBeMountPoint {
                state.away[domain]?.isSettled = true
                settle(missing, removing: rest, of: name, after: away)
            } else if !rest.isEmpty {
                problems["away \(domain)"] = .away(name, rest.count)
            }
        }
    }

    /// Removes the keys of a domain that is away on all machines, or sets them again here.
    private func settle(
        _ keys: [FleetKey], removing removed: [FleetKey], of domain: DomainName, after away: AwayDomain
    ) {
        guard TravelRules.isOwn(domain.description) else {
            for key in keys { state.know(key, as: nil) }
            return record(Dictionary(uniqueKeysWithValues: removed.map { ($0, nil) }), at: away.since)
        }
        guard let values = away.values else { return receiveAgain(keys) }
        for key in keys { if let value = values[key.key] { state.replica.restore(key, to: value) } }
    }

    /// Forgets the edits of keys, so that they come again from the fleet's files.
    func receiveAgain(_ keys: [FleetKey]) {
        if keys.isEmpty { return }
        let keys = Set(keys)
        state.replica.forget(where: keys.contains)
        receiveAgain()
    }
}
