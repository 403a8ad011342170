package import PropertyList

extension FleetReplica {
    /// The state as a property list: each key with its newest edit, and what else is known of it.
    package var propertyList: PropertyListValue {
        var domains: [String: [String: PropertyListValue]] = [:]
        for (key, stamp) in newest {
            var entry: [String: PropertyListValue] = ["newest": stamp.propertyList]
            entry["known"] = known[key]?.propertyList
            entry["seen"] = seen[key]?.propertyList
            if let application = unconfirmed[key] {
                entry["unconfirmed"] = application.stamp.propertyList
                entry["value"] = application.value
            }
            domains[key.domain, default: [:]][key.key] = .dictionary(entry)
        }
        return [
            "machine": .string(machine.text),
            "former": .dictionary(
                Dictionary(
                    uniqueKeysWithValues: former.map { machine, time in
                        (machine.text, Stamp(time: time, machine: machine).propertyList)
                    })),
            "domains": .dictionary(domains.mapValues { .dictionary($0) }),
        ]
    }

    /// Reads a state; `nil` if it isn't one.
    package init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, case .string(let machine)? = entries["machine"],
            let machine = MachineID(machine), case .dictionary(let domains)? = entries["domains"],
            case .dictionary(let former)? = entries["former"]
        else { return nil }
        self.init(machine)
        for (_, value) in former {
            guard let stamp = Stamp(value) else { return nil }
            self.former[stamp.machine] = stamp.time
        }
        for (domain, keys) in domains {
            guard case .dictionary(let keys) = keys else { return nil }
            for (name, entry) in keys where !add(entry, of: FleetKey(domain, name)) { return nil }
        }
    }

    private mutating func add(_ entry: PropertyListValue, of key: FleetKey) -> Bool {
        guard case .dictionary(let entry) = entry, let stamp = entry["newest"].flatMap({ Stamp($0) }) else {
            return false
        }
        newest[key] = stamp
        for (path, name) in [(\FleetReplica.known, "known"), (\.seen, "seen")] {
            guard let value = entry[name] else { continue }
            guard let edits = KnownEdits(value) else { return false }
            self[keyPath: path][key] = edits
        }
        if let value = entry["unconfirmed"] {
            guard let stamp = Stamp(value) else { return false }
            unconfirmed[key] = Application(value: entry["value"], stamp: stamp)
        }
        return true
    }
}
