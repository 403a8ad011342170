import DefaultsCore
package import PropertyList

/// The first meeting of a machine's values with those of the fleet.
extension Connector {
    /// A difference between the values of a machine that joins and those of the fleet.
    package struct Disagreement: Hashable, Sendable {
        package var key: FleetKey
        /// The machine's value; `nil` if it has none.
        package var own: PropertyListValue?
        /// The fleet's; `nil` if it has removed the key.
        package var fleet: PropertyListValue?
    }

    /// The values that stay where both the machine and the fleet have one.
    package enum Preference: String, CaseIterable {
        case fleet, mine
    }

    /// Forgets a list that the machine has from another fleet, before it meets this one.
    package func forgetFormerFleet() throws {
        // An interrupted join goes on.
        guard state.files.received.isEmpty, state.files.last == 0 else { return }
        try forgetList()
        try follow(to: agent.barrier(of: nil))
        (state.list, state.away, rules, unsent) = ([:], [:], TravelRules([:]), [])
        state.replica = FleetReplica(machine)
        receiveAgain()
    }

    /// Removes the list of what travels, and that of the machines, from this machine.
    package func forgetList() throws {
        for name in [TravelRules.list, TravelRules.machines] {
            let values = try agent.snapshot(of: name).values
            if values.isEmpty { continue }
            _ = try agent.set(values.mapValues { _ in nil }, of: name, expecting: nil, purpose: nil)
        }
    }

    /// Reads all that has arrived from other machines.
    ///
    /// - Returns: Where the machine's values differ from it, in order, except for the list of what travels.
    package func meet() throws -> [Disagreement] {
        try receive()
        // The list of what travels comes with it.
        state.list = state.newestList
        rules = TravelRules(state.list)
        var differences: [Disagreement] = []
        for (domain, keys) in Dictionary(grouping: state.replica.unconfirmed.keys, by: \.domain)
        where !TravelRules.isOwn(domain) {
            let own = try values(of: domain)
            for key in keys where reason(against: key) == nil {
                let fleet = state.replica.unconfirmed[key]?.value
                if own[key.key] != fleet { differences.append(Disagreement(key: key, own: own[key.key], fleet: fleet)) }
            }
        }
        return differences.sorted { $0.key < $1.key }
    }

    /// Whether all has arrived that the fleet had when it approved this machine.
    package var hasApproval: Bool { state.files.hasApproval }

    /// Sets the fleet's values here, and sends those that the fleet doesn't have.
    ///
    /// - Parameters:
    ///   - differences: Where values differ.
    ///   - preference: The values that stay where both have one.
    /// - Throws: If the agent, the files or the state can't be used.
    package func join(_ differences: [Disagreement], preferring preference: Preference) throws {
        if preference == .mine {
            let own = differences.filter { $0.own != nil }
            // Whoever prefers them has seen the others.
            record(
                Dictionary(uniqueKeysWithValues: own.map { ($0.key, $0.own) }), at: agent.now.milliseconds,
                knowingAll: true)
        }
        isChanged = true
        try save()
        while try step(receiving: false) {}
        try begin()
    }

    /// Whether the list of machines has an entry for this one.
    package var isAnnounced: Bool {
        get throws(DefaultsError) { try values(of: TravelRules.machines.description)[machine.text] != nil }
    }

    /// Sets this machine's entry in the list of machines, unless it is that already.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - former: The identifier of the machine, if it isn't the present one.
    /// - Throws: If the agent, the files or the state can't be used.
    package func announce(_ entry: PropertyListValue, as former: MachineID? = nil) throws {
        let key = (former ?? machine).text
        if try values(of: TravelRules.machines.description)[key] == entry { return }
        let cursor = try agent.set([key: entry], of: TravelRules.machines, expecting: nil, purpose: nil)
        try follow(to: cursor)
        try save()
    }

    /// Sends everything that has happened until now, what is delayed, too.
    package func finish() throws {
        // Changes to files that the agent hasn't read yet, too.
        for domain in try domains() { try follow(to: agent.barrier(of: try DomainName(domain))) }
        try follow(to: agent.barrier(of: nil))
        try sendDelayed { _ in true }
        while try step(receiving: true) {}
        try save()
    }
}
