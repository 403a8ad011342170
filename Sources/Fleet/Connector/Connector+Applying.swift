import DefaultsCore
import PropertyList

/// The way from the fleet to the agent.
extension Connector {
    /// The maximum size of an edit in bytes, and of its number of keys.
    private static let maximumEdit = (bytes: 4 << 20, keys: 5_000)

    /// Returns whether a received value is to be set: not while it is held back here, a later edit is delayed, or its
    /// file may come back at any moment.
    package func isPending(_ key: FleetKey) -> Bool {
        guard let application = state.replica.unconfirmed[key], reason(against: key) == nil,
            state.away[key.domain]?.isSettled != false
        else { return false }
        return state.delayed[key].map { $0 < application.stamp.milliseconds } ?? true
    }

    /// Sets what has been received, if nobody has changed it since the last record that was passed on.
    ///
    /// - Returns: Whether something was set.
    func apply() throws(DefaultsError) -> Bool {
        var hasApplied = false
        for (subject, problem) in problems {
            if case .refused(let key, _) = problem, !isPending(key) { problems[subject] = nil }
        }
        let pending = state.replica.unconfirmed.keys.filter { isPending($0) && !refusals.contains($0) }
        for (domain, keys) in Dictionary(grouping: pending, by: \.domain).sorted(by: { $0.key < $1.key }) {
            // The history names the machine of each edit.
            for (_, keys) in Dictionary(grouping: keys, by: { state.replica.newest[$0]?.machine }) {
                if try apply(keys.sorted(), of: domain) { hasApplied = true }
            }
        }
        return hasApplied
    }

    /// Sets keys of a domain, or as many of them as the agent accepts; returns whether something was set.
    private func apply(_ keys: [FleetKey], of domain: String) throws(DefaultsError) -> Bool {
        do throws(DefaultsError) {
            try apply(keys, of: try DomainName(domain))
            for key in keys { problems["key \(key.domain)/\(key.key)"] = nil }
            return true
        } catch {
            switch error.code {
            case .agentUnavailable, .agentRefused: throw error
            // Somebody has changed it, and the record is coming.
            case .changed: return false
            default:
                guard let key = keys.first, keys.count == 1 else {
                    // One of them doesn't keep the others from being set.
                    var hasApplied = false
                    for key in keys where try apply([key], of: domain) { hasApplied = true }
                    return hasApplied
                }
                refusals.insert(key)
                problems["key \(key.domain)/\(key.key)"] = .refused(key, error)
                return false
            }
        }
    }

    private func apply(_ keys: [FleetKey], of domain: DomainName) throws(DefaultsError) {
        // Changes that were made to the file before are in the log then.
        let cursor = try agent.barrier(of: domain)
        try follow(to: cursor)
        let snapshot = try agent.snapshot(of: domain)
        try follow(to: snapshot.cursor)
        var rest = keys[...]
        while !rest.isEmpty {
            var (values, expected): (Difference, Difference) = ([:], [:])
            var set: [FleetKey: PropertyListValue?] = [:]
            var size = 0
            while let key = rest.first, set.count < Self.maximumEdit.keys, size < Self.maximumEdit.bytes {
                rest.removeFirst()
                // An edit here may have come after it.
                guard isPending(key), let wanted = state.replica.unconfirmed[key] else { continue }
                size += key.key.utf8.count + (wanted.value.map { (try? $0.write(as: .binary).count) ?? 0 } ?? 0)
                set[key] = .some(wanted.value)
                values[key.key] = .some(wanted.value)
                expected[key.key] = .some(snapshot.values[key.key])
            }
            if set.isEmpty { continue }
            if values == expected {
                state.replica.confirm(set)
                for (key, value) in set { state.know(key, as: value) }
                isChanged = true
                continue
            }
            offered.formUnion(set.keys)
            let names = Set(set.keys.compactMap { state.replica.newest[$0]?.machine }).sorted().map(name)
            let answer = try agent.set(
                values, of: domain, expecting: expected,
                purpose: .other(Self.purpose, of: names.joined(separator: ", ")))
            answers.append((answer, set))
            confirmAnswers()
        }
    }

    /// The name of a machine, or else its identifier.
    package func name(of machine: MachineID) -> String {
        guard case .dictionary(let entries)? = (try? values(of: TravelRules.machines.description))?[machine.text],
            case .string(let name)? = entries["Name"]
        else { return machine.text }
        return name
    }
}
