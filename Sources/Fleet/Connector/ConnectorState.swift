package import DefaultsCore
package import PropertyList

/// The knowledge that must outlive a crash: the replica, and how far it has come with the log and the files.
package struct ConnectorState: Sendable {
    package var replica: FleetReplica
    /// The knowledge of the fleet's files.
    package var files = FilesState()
    /// The list of what travels, as of the cursor.
    package var list: DomainValues = [:]
    /// The domains that are away, by their names.
    package var away: [String: AwayDomain] = [:]
    /// The position in the agent's log up to which records have been passed on; `nil` before the first.
    var cursor: Cursor?
    /// The newest time in the edits of each other machine, in milliseconds since 1970, and when that was received.
    package var times: [MachineID: (newest: UInt64, received: UInt64)] = [:]
    /// The hash of each travelling key's value, as of the cursor; no hash if it has none.
    var known: [FleetKey: ContentHash] = [:]
    /// The changes of keys on one day.
    package var counts = DailyCounts()
    /// The times of the last edits of keys that have changed too often today, which are sent tomorrow.
    package var delayed: [FleetKey: UInt64] = [:]
    /// The latest edits on this machine that lost against ones of other machines, of which they didn't know.
    package var overruled: [OverruledEdit] = []

    /// An edit that lost.
    package struct OverruledEdit: Sendable {
        package var key: FleetKey
        package var winner: Stamp
        /// The time when that was received, in milliseconds since 1970.
        package var milliseconds: UInt64
    }

    static let maximumOverruled = 100

    /// Whether the machine has sent the values that it had when it joined.
    package var hasJoined: Bool { files.hasJoined }

    /// Returns the state of a machine that goes on under another identifier, since more than one writes as this one, or
    /// its files say that the state is old.
    ///
    /// It reads all that was written as this one, and sends all that it has.
    package func renewed(as machine: MachineID) -> ConnectorState {
        var state = self
        state.replica = replica.renewed(as: machine)
        state.files.renew()
        return state
    }

    /// Returns whether another machine has announced itself under a former identifier of this one's.
    package func isInUse(_ former: MachineID) -> Bool {
        let entry = replica.newest[FleetKey(TravelRules.machines.description, former.text)]
        return entry.map { !replica.isOwn($0) } ?? false
    }

    package init(_ replica: FleetReplica) { self.replica = replica }

    /// The list of what travels, with the entries that have been received but not set yet.
    var newestList: DomainValues {
        var list = list
        for (key, application) in replica.unconfirmed where key.domain == TravelRules.list.description {
            list[key.key] = application.value
        }
        return list
    }

    /// Records a key's value, as of the cursor.
    mutating func know(_ key: FleetKey, as value: PropertyListValue?) {
        known[key] = value.map { Self.hash($0) }
    }

    /// Returns whether a key's value differs from the last one that the fleet has from this machine.
    func hasChanged(_ key: FleetKey, to value: PropertyListValue?) -> Bool {
        known[key] != value.map { Self.hash($0) }
    }

    /// A value that can't be written has no hash that another value has.
    static func hash(_ value: PropertyListValue) -> ContentHash {
        ContentHash((try? PropertyListValue.array([value]).write(as: .binary)) ?? Array("\(value)".utf8))
    }
}

/// The numbers of the changes of keys on one day.
package struct DailyCounts: Sendable {
    /// The number of the day since 1970, in UTC.
    private(set) var day: UInt64 = 0
    private(set) var counts: [FleetKey: Int] = [:]

    /// The number of the day of a time in milliseconds since 1970.
    static func day(_ milliseconds: UInt64) -> UInt64 { milliseconds / 86_400_000 }

    /// Begins the day of a time unless that is the day being counted; returns whether it does.
    mutating func begin(_ milliseconds: UInt64) -> Bool {
        let today = Self.day(milliseconds)
        if today == day { return false }
        (day, counts) = (today, [:])
        return true
    }

    mutating func add(_ key: FleetKey) { counts[key, default: 0] += 1 }

    package subscript(key: FleetKey) -> Int { counts[key] ?? 0 }

    init() {}

    init(day: UInt64, _ counts: [FleetKey: Int]) { (self.day, self.counts) = (day, counts) }
}

// MARK: Property lists

extension ConnectorState {
    package var propertyList: PropertyListValue {
        func number(_ value: UInt64) -> PropertyListValue { .integer(Int64(clamping: value)) }
        func byDomain(_ entries: [FleetKey: PropertyListValue]) -> PropertyListValue {
            var domains: [String: [String: PropertyListValue]] = [:]
            for (key, value) in entries { domains[key.domain, default: [:]][key.key] = value }
            return .dictionary(domains.mapValues { .dictionary($0) })
        }
        var entries: [String: PropertyListValue] = [
            "replica": replica.propertyList, "files": files.propertyList, "list": .dictionary(list),
            "delayed": byDomain(delayed.mapValues(number)),
            "times": .dictionary(
                Dictionary(
                    uniqueKeysWithValues: times.map { machine, times in
                        return (machine.text, [number(times.newest), number(times.received)])
                    })),
            "known": byDomain(known.mapValues { .integer(Int64(bitPattern: $0.value)) }),
            "day": number(counts.day),
            "counts": byDomain(counts.counts.mapValues { .integer(Int64($0)) }),
            "overruled": .array(
                overruled.map { edit in
                    [
                        .string(edit.key.domain), .string(edit.key.key), edit.winner.propertyList,
                        number(edit.milliseconds),
                    ]
                }),
        ]
        entries["cursor"] = cursor.map { .string($0.description) }
        if !away.isEmpty { entries["away"] = .dictionary(away.mapValues(\.propertyList)) }
        return .dictionary(entries)
    }

    /// Reads a state; `nil` if it isn't one.
    package init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, let replica = entries["replica"].flatMap({ FleetReplica($0) }),
            let files = FilesState(entries["files"]), case .dictionary(let times)? = entries["times"],
            let known = Self.byDomain(entries["known"]), let day = UInt64(number: entries["day"]),
            let counts = Self.byDomain(entries["counts"]), case .array(let overruled)? = entries["overruled"],
            case .dictionary(let list)? = entries["list"], let delayed = Self.byDomain(entries["delayed"])
        else { return nil }
        self.init(replica)
        (self.files, self.list) = (files, list)
        self.delayed = delayed.mapValues { UInt64(max(0, $0)) }
        if case .string(let text)? = entries["cursor"] {
            guard let cursor = try? Cursor(text) else { return nil }
            self.cursor = cursor
        }
        if case .dictionary(let domains)? = entries["away"] {
            for (domain, value) in domains {
                guard let away = AwayDomain(value) else { return nil }
                self.away[domain] = away
            }
        }
        for (text, value) in times {
            guard let machine = MachineID(text), case .array(let parts) = value, parts.count == 2,
                let newest = UInt64(number: parts[0]), let time = UInt64(number: parts[1])
            else { return nil }
            self.times[machine] = (newest, time)
        }
        self.known = known.mapValues { ContentHash(value: UInt64(bitPattern: $0)) }
        self.counts = DailyCounts(day: day, counts.mapValues { Int($0) })
        for edit in overruled {
            guard case .array(let parts) = edit, parts.count == 4, case .string(let domain) = parts[0],
                case .string(let key) = parts[1], let winner = Stamp(parts[2]), let time = UInt64(number: parts[3])
            else { return nil }
            self.overruled.append(
                OverruledEdit(key: FleetKey(domain, key), winner: winner, milliseconds: time))
        }
    }

    private static func byDomain(_ value: PropertyListValue?) -> [FleetKey: Int64]? {
        guard case .dictionary(let domains)? = value else { return nil }
        var entries: [FleetKey: Int64] = [:]
        for (domain, keys) in domains {
            guard case .dictionary(let keys) = keys else { return nil }
            for (key, value) in keys {
                guard case .integer(let number) = value else { return nil }
                entries[FleetKey(domain, key)] = number
            }
        }
        return entries
    }
}

extension AwayDomain {
    fileprivate var propertyList: PropertyListValue {
        var entries: DomainValues = [
            "since": .integer(Int64(clamping: since)), "settled": .boolean(isSettled),
            "hashes": .dictionary(hashes.mapValues { .integer(Int64(bitPattern: $0.value)) }),
        ]
        entries["values"] = values.map { .dictionary($0) }
        return .dictionary(entries)
    }

    fileprivate init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, let since = UInt64(number: entries["since"]),
            case .boolean(let isSettled)? = entries["settled"], case .dictionary(let hashes)? = entries["hashes"]
        else { return nil }
        self.init(
            since: since,
            hashes: hashes.compactMapValues { value in
                if case .integer(let hash) = value { ContentHash(value: UInt64(bitPattern: hash)) } else { nil }
            }, isSettled: isSettled)
        if case .dictionary(let values)? = entries["values"] { self.values = values }
    }
}
