import DefaultsCore
import PropertyList

/// The search for changes that no record names.
extension Connector {
    /// The meaning of values that the fleet doesn't have from this machine.
    enum Meaning {
        /// They were edited.
        case edits
        /// Somebody has added their keys on this machine.
        case addition
        /// The machine had them before it joined.
        case beginning
        /// Somebody has added their keys on another machine, or a manifest no longer holds them back.
        case release
    }

    /// Finds the changes that records didn't name, once all records have been passed on: the values are those of now.
    func compareUnknown() throws(DefaultsError) {
        if hasGap { try compareAll() }
        if let time = unknown[TravelRules.list.description] { try compareList(at: time) }
        for (domain, time) in unknown.sorted(by: { $0.key < $1.key }) where rules.includes(domain) {
            try compare(domain, as: .edits, at: time)
        }
        unknown = [:]
    }

    /// Returns the list of what travels; `nil` while its file is damaged, since entries may be missing.
    private func listValues() throws(DefaultsError) -> DomainValues? {
        let snapshot = try agent.snapshot(of: TravelRules.list)
        return snapshot.damage == nil ? snapshot.values : nil
    }

    /// Finds what was added to the list of what travels and removed from it.
    ///
    /// - Parameter time: The latest time at which that may have happened, in milliseconds.
    /// - Throws: If the agent can't be used.
    private func compareList(at time: UInt64) throws(DefaultsError) {
        let hasFile = agent.fileTime(of: TravelRules.list) != nil
        guard let values = try listValues() else { return }
        let list = TravelRules.list.description
        let away = AwayDomain(since: time, hashes: knownHashes(of: list))
        let isRemovalOfOne = hasFile && state.list.count == 1
        if values.isEmpty, !isRemovalOfOne, goesAway(list, as: away, having: state.list) { return }
        let changes = Set(values.keys).union(state.list.keys).filter { values[$0] != state.list[$0] }
            .map { KeyChange(key: $0, old: state.list[$0], new: values[$0]) }
        // The connector may have set them itself.
        let isReceived = { [state, offered] (change: KeyChange) in
            let key = FleetKey(TravelRules.list.description, change.key)
            guard let newest = state.replica.newest[key], !state.replica.isOwn(newest) else { return false }
            if let pending = state.replica.unconfirmed[key] {
                return offered.contains(key) && pending.value == change.new
            }
            return !state.hasChanged(key, to: change.new)
        }
        try readList(after: changes.filter(isReceived), isOwn: true) { _ in time }
        try readList(after: changes.filter { !isReceived($0) }, isOwn: false) { [agent] in
            // Changes since then were passed over, since their domain wasn't in the list yet.
            agent.fileTime(of: $0).map { max(time, min($0, agent.now).milliseconds) } ?? time
        }
    }

    /// Compares everything that travels with what the fleet has, after changes were missed.
    private func compareAll() throws(DefaultsError) {
        (hasGap, unknown) = (false, [:])
        let here = Set(try agent.domains().map(\.description))
        let lost = Set(state.known.keys.map(\.domain)).subtracting(here)
            .filter { state.away[$0]?.isSettled != false }
        for domain in lost {
            // Nobody knows whether somebody has removed it, or it was lost. So it comes back from the fleet.
            state.replica.forget { $0.domain == domain }
            state.known = state.known.filter { $0.key.domain != domain }
        }
        if !lost.isEmpty {
            receiveAgain()
            isChanged = true
        }
        let former = rules
        if !lost.contains(TravelRules.list.description) { try compareList(at: lastEdit(of: TravelRules.list)) }
        let domains = here.union(state.replica.newest.keys.map(\.domain)).subtracting(lost)
        for domain in domains.sorted() where rules.includes(domain) {
            // What was added has been compared already.
            try compare(domain, as: .edits, at: lastEdit(of: try DomainName(domain))) {
                former.reason(against: $0, scope: scope($0)) == nil
            }
        }
    }

    /// The latest time at which somebody may have edited a domain, in milliseconds.
    private func lastEdit(of domain: DomainName) -> UInt64 {
        (agent.fileTime(of: domain).map { min($0, agent.now) } ?? agent.now).milliseconds
    }

    /// Finds what the fleet doesn't have of a domain.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - meaning: The meaning of values that the fleet doesn't have.
    ///   - milliseconds: The latest time at which they may have been set.
    ///   - snapshot: The domain's values as of the cursor; `nil` for the current ones.
    ///   - isWanted: Whether a key is compared.
    /// - Throws: If the agent can't be used.
    func compare(
        _ domain: String, as meaning: Meaning, at milliseconds: UInt64, in snapshot: DomainSnapshot? = nil,
        where isWanted: (FleetKey) -> Bool = { _ in true }
    ) throws(DefaultsError) {
        // Until the machine has joined, nobody knows which values are new.
        let meaning = state.hasJoined || meaning == .addition ? meaning : .beginning
        let name = try DomainName(domain)
        let hasFile = agent.fileTime(of: name) != nil
        let snapshot = if let snapshot { snapshot } else { try agent.snapshot(of: name) }
        // Its last good values may be missing; when it is repaired, records come.
        if snapshot.damage != nil { return }
        let values = snapshot.values
        // Records that follow may have changed it since.
        let isCurrent = (position ?? state.cursor).map { snapshot.cursor.revision <= $0.revision } ?? true
        let fleetKeys = state.replica.newest.keys.filter { $0.domain == domain }
        if meaning == .edits, !TravelRules.isOwn(domain), fleetKeys.allSatisfy({ values[$0.key] == nil }) {
            let hashes = knownHashes(of: domain)
            let away = AwayDomain(since: milliseconds, hashes: hashes)
            // Other values may have been written after the file was gone.
            let isRemovalOfOne = hasFile && hashes.count == 1 && values.isEmpty
            if !isRemovalOfOne, goesAway(domain, as: away, having: nil) { return }
        }
        let isBack = meaning == .edits && isBack(domain, at: milliseconds) { values[$0].map(ConnectorState.hash) }
        var outdated: [FleetKey] = []
        var edits: [FleetKey: PropertyListValue?] = [:]
        // What was added before another machine edited it, of which whoever added it knew nothing.
        var older: [FleetKey: PropertyListValue?] = [:]
        var beginnings: [FleetKey: PropertyListValue] = [:]
        var known: [FleetKey: PropertyListValue?] = [:]
        for key in Set(values.keys.map { FleetKey(domain, $0) }).union(fleetKeys)
        where isWanted(key) && reason(against: key) == nil {
            let value = values[key.key]
            let hasChanged = state.hasChanged(key, to: value)
            if hasChanged, isAway(key, with: values) { continue }
            let pending = state.replica.unconfirmed[key]
            switch meaning {
            case .addition:
                if value != nil || hasChanged {
                    if let pending, pending.stamp.milliseconds > milliseconds {
                        older[key] = .some(value)
                    } else {
                        edits[key] = .some(value)
                    }
                } else if pending == nil {
                    known[key] = .some(nil)
                }
            case .edits:
                // What has been received may be set already.
                guard hasChanged, pending == nil || pending?.value != value else { break }
                if isBack, isOutdated(key, being: value, at: milliseconds) {
                    outdated.append(key)
                    break
                }
                if let time = state.delayed[key] {
                    (state.delayed[key], isChanged) = (max(time, milliseconds), true)
                } else {
                    edits[key] = .some(value)
                }
            case .beginning, .release:
                if pending != nil {
                    // It will be replaced, unless it changes before.
                    if isCurrent { state.know(key, as: value) }
                } else if state.replica.newest[key] == nil {
                    beginnings[key] = value
                } else if state.delayed[key] == nil {
                    if hasChanged {
                        edits[key] = .some(value)
                    } else if meaning == .release {
                        known[key] = .some(value)
                    }
                }
            }
        }
        record(edits, at: milliseconds, knowingAll: meaning == .addition)
        record(older, at: milliseconds)
        begin(with: beginnings)
        receiveAgain(outdated)
        // Snapshots don't have what didn't travel.
        if !known.isEmpty { unsent.append(state.replica.repeated(known)) }
    }

    func begin(with values: [FleetKey: PropertyListValue]) {
        if values.isEmpty { return }
        unsent.append(state.replica.begin(with: values))
        for (key, value) in values { state.know(key, as: value) }
        isChanged = true
    }

    /// Sends the values that the fleet doesn't have, which lose to every edit.
    func sendBeginnings() throws(DefaultsError) {
        for domain in try domains() {
            try compare(domain, as: .beginning, at: 0, in: try currentSnapshot(of: domain))
        }
    }

    /// Returns the values of a domain once all records have been passed on that are in it: an edit of this moment isn't
    /// one from before.
    private func currentSnapshot(of domain: String) throws(DefaultsError) -> DomainSnapshot {
        while true {
            let snapshot = try agent.snapshot(of: try DomainName(domain))
            try follow(to: snapshot.cursor)
            if state.cursor == snapshot.cursor { return snapshot }
        }
    }

    /// Sends what the manifests held back until now.
    package func scopesHaveChanged(from former: (FleetKey) -> TravelRules.Scope) throws {
        for domain in try domains() {
            try compare(domain, as: .release, at: 0, in: try currentSnapshot(of: domain)) {
                rules.reason(against: $0, scope: former($0)) != nil
            }
        }
        try save()
    }

    /// Sends the values that no other machine has, when the machine has joined.
    func begin() throws {
        try sendBeginnings()
        // Even an empty set says that it has joined.
        unsent.append(state.replica.begin(with: [:]))
        try save()
    }

    /// Returns the rule that holds a key back on this machine, except for how often it changes.
    package func reason(against key: FleetKey) -> TravelRules.Reason? {
        rules.reason(against: key, scope: scope(key))
    }
}
