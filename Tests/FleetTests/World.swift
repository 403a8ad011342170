import DefaultsCore
import Fleet
import PropertyList

/// Machines with real connectors, and a tool that carries their files, all driven by one seed.
final class World {
    /// The kinds of events that a world may have, beside edits, crashes and files that come late, twice or in part.
    struct Kind {
        /// Machines' clocks are up to a day wrong.
        var hasWrongClocks = false
        /// Logs are lost.
        var losesLogs = false
        /// Domains are removed from the list, and added again.
        var changesList = false
        /// Preferences directories go and come back.
        var movesDirectories = false
        /// Tools empty, truncate, rename and remove files, also in the subfolders of the machines that wrote them.
        var damagesFiles = false
        /// Homes are restored from backups, with the folder or without it.
        var restoresHomes = false
        /// Machines are copied.
        var copiesMachines = false
        /// Machines are lost, and their subfolders are removed.
        var losesMachines = false
        /// The manifests of some machines hold a key back.
        var holdsValuesBack = false
    }

    private let kind: Kind
    private var random: Generator
    private(set) var milliseconds: UInt64 = 1_800_000_000_000
    private(set) var machines: [SimulatedMachine] = []
    var findings: [String] = []
    private var count: Int64 = 0
    private var isHealing = false
    /// The values that were written, and when, by key; only those that a member has written.
    private var last: [FleetKey: PropertyListValue?] = [:]
    private var uncertain: Set<FleetKey> = []
    /// The keys of each machine that were changed without a record that names them, since its connector worked.
    private var unnamed: [MachineID: [DomainName: Set<FleetKey>]] = [:]
    /// Values that were written but must not travel.
    private var secrets: Set<PropertyListValue> = []
    private var depth = 0
    /// Whether machines may be restored or copied in a world in which nothing happens by itself.
    var mayRenew = false

    private static let names = ["d0", "d1"].map { DomainName(escaping: $0) }
    private static let keys = ["k0", "k1", "k2", "Token"]

    init(seed: UInt64, _ kind: Kind) {
        (self.kind, random) = (kind, Generator(state: seed))
        addMachine()
        addMachine()
    }

    /// Creates a world in which nothing happens by itself, and everything arrives.
    init(machines count: Int) {
        (kind, random, isHealing) = (Kind(), Generator(state: 1), true)
        machines = (0..<count).map { _ in SimulatedMachine(MachineID.random(using: &random), in: self) }
    }

    /// Adds a machine that asks to join.
    func add() -> SimulatedMachine {
        let machine = SimulatedMachine(MachineID.random(using: &random), in: self)
        machines.append(machine)
        return machine
    }

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private func addMachine() {
        let machine = SimulatedMachine(MachineID.random(using: &random), in: self)
        let offsets: [Int64] = [0, -5_000, 30_000, -86_400_000, 86_400_000]
        if kind.hasWrongClocks { machine.clockOffset = offsets.randomElement(using: &random) ?? 0 }
        if kind.holdsValuesBack, chance(40) { machine.held = ["k2"] }
        machines.append(machine)
        for _ in 0..<4 { edit(machine) }
    }

    // MARK: Interference

    /// Lets the user edit while a connector works.
    func interfere(with machine: SimulatedMachine) {
        if isHealing || depth > 0 || !chance(8) { return }
        depth += 1
        edit(machine)
        depth -= 1
    }

    /// Returns whether a connector ends here.
    func crashes(_ machine: SimulatedMachine) -> Bool {
        if isHealing || !chance(4) { return false }
        machine.connector = nil
        return true
    }

    /// Returns whether the disk of a folder refuses something now.
    func fails() -> Bool { !isHealing && chance(3) }

    private func check(_ envelope: Envelope) {
        if let value = envelope.value, secrets.contains(value) { findings.append("\(envelope.key) has left.") }
    }

    /// Checks that nothing leaves a machine that must not.
    func check(_ bytes: [UInt8], named name: String, of machine: SimulatedMachine) {
        guard let name = FleetFileName(name, of: machine.id),
            let file = try? FleetFile(name, opening: bytes, with: PlainSeal())
        else { return findings.append("A file can't be read.") }
        file.sets.flatMap(\.envelopes).forEach(check)
    }

    // MARK: Steps

    func step() {
        milliseconds += UInt64.random(in: 1...3_000, using: &random)
        guard let machine = machines.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: edit(machine)
        case 25..<55: run(machine)
        case 55..<85: carry(to: machine)
        case 85..<88: machine.connector = nil
        case 88..<90:
            if kind.losesLogs { machine.loseLog(and: chance(30) ? Self.names.randomElement(using: &random) : nil) }
        case 90..<93:
            if kind.changesList { changeList(machine) }
            if kind.movesDirectories { move(machine) }
            if kind.damagesFiles { damageFile(of: machine) }
            if kind.restoresHomes { restore(machine) }
            if kind.copiesMachines, machines.count < 4 { copy(machine) }
            if kind.losesMachines { lose(machine) }
        case 93 where machines.count < 4: addMachine()
        case 94..<96: milliseconds += UInt64.random(in: 0...86_400_000, using: &random)
        default: carryRemovals(to: machine)
        }
    }

    /// An app, a person or a foreign writer changes keys of a domain.
    private func edit(_ machine: SimulatedMachine) {
        // No two edits are made at the same time.
        milliseconds += 1
        guard let domain = Self.names.randomElement(using: &random) else { return }
        var values: Difference = [:]
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            guard let key = Self.keys.randomElement(using: &random) else { continue }
            count += 1
            let value: PropertyListValue? = chance(20) ? nil : .integer(count)
            if key == "Token" { if let value { secrets.insert(value) } }
            values.updateValue(value, forKey: key)
        }
        for (key, value) in values { note(value, as: FleetKey(domain.description, key), on: machine) }
        // Values written while its file is away don't last.
        if machine.isAway { uncertain.formUnion(values.keys.map { FleetKey(domain.description, $0) }) }
        let isKnown = machine.isAway || !chance(10)
        if !isKnown {
            // Of two such changes, it is unknown which key was changed when.
            let keys = Set(values.keys.map { FleetKey(domain.description, $0) })
            let former = unnamed[machine.id]?[domain] ?? []
            if !former.isEmpty { uncertain.formUnion(former.union(keys)) }
            unnamed[machine.id, default: [:]][domain] = former.union(keys)
        }
        machine.change(values, of: domain, isKnown: isKnown)
    }

    private func note(_ value: PropertyListValue?, as key: FleetKey, on machine: SimulatedMachine) {
        if machine.values[DomainName(escaping: key.domain)]?[key.key] == value { return }
        // A machine may have joined without its state's knowledge.
        if machine.isJoining || !machine.hasJoined && machine.hasSent { uncertain.insert(key) }
        guard machine.hasJoined else { return }
        if machine.held.contains(key.key) { return }
        // An edit of a machine that doesn't know yet that the key travels loses to those that travel.
        if machine.values[TravelRules.list]?[key.domain] == nil { return }
        // The fleet may never have known of what is removed.
        if value == nil, last[key] == nil { return }
        last[key] = .some(value)
    }

    /// Whether anything was added: not if the founder was interrupted.
    private var hasList = false
    /// The times at which directories went.
    private var away: [MachineID: UInt64] = [:]

    private func move(_ machine: SimulatedMachine) {
        guard let since = away.removeValue(forKey: machine.id) else {
            guard machine.hasJoined else { return }
            away[machine.id] = milliseconds
            return machine.moveAway()
        }
        machine.moveBack()
        // After a minute, its removal counts.
        if milliseconds > since + 55_000 { distrustAll() }
    }

    /// Lets a tool spoil a file in a machine's folder.
    private func damageFile(of machine: SimulatedMachine) {
        guard let id = machine.folder.keys.sorted().randomElement(using: &random),
            let (name, bytes) = machine.folder[id]?.sorted(by: { $0.key < $1.key }).randomElement(using: &random)
        else { return }
        switch Int.random(in: 0..<7, using: &random) {
        case 6: machine.unreadableFiles.insert(bytes)
        case 0: machine.folder[id]?[name] = []
        case 1: machine.folder[id]?[name] = Array(bytes.prefix(bytes.count / 2))
        case 2: machine.folder[id]?[name] = nil
        case 3: machine.folder[id] = chance(50) ? [:] : nil
        case 4:
            machine.folder[id]?[name] = nil
            machine.folder[id]?["\(name).nextcloud"] = [0]
        default:
            machine.folder[id]?[name] = nil
            let parts = name.split(separator: ".")
            machine.folder[id]?["\(parts[0]) (conflicted copy 2026).\(parts[1])"] = bytes
        }
    }

    private func restore(_ machine: SimulatedMachine) {
        guard machine.hasJoined else { return }
        guard machine.hasBackup, chance(50) else { return machine.backUp() }
        distrustAll()
        repeatApprovals(by: machine)
        machine.restore(withFolder: chance(50))
    }

    /// Repeats approvals that may be lost with a machine's files, as `join` says.
    private func repeatApprovals(by machine: SimulatedMachine) {
        for other in machines where other.approver === machine { other.approver = nil }
    }

    /// Adds a copy of a machine.
    private func copy(_ machine: SimulatedMachine) {
        guard machine.hasJoined else { return }
        machine.backUp()
        add().restore(from: machine, withFolder: true)
        distrustAll()
    }

    /// Loses a machine.
    private func lose(_ machine: SimulatedMachine) {
        guard machines.count > 2, machines.allSatisfy(\.hasJoined) else { return }
        remove(machine)
        // Its last edits may be lost with it.
        distrustAll()
    }

    private func distrustAll() {
        for name in Self.names { uncertain.formUnion(Self.keys.map { FleetKey(name.description, $0) }) }
    }

    private func changeList(_ machine: SimulatedMachine) {
        guard machine.hasJoined, let domain = Self.names.randomElement(using: &random) else { return }
        machine.change([domain.description: chance(50) ? nil : true], of: TravelRules.list)
    }

    /// Lets one connector do what it can.
    func runOne(_ machine: SimulatedMachine) { run(machine, mustReceive: true) }

    func wait(days: UInt64) { wait(milliseconds: days * 86_400_000) }

    func wait(milliseconds: UInt64) { self.milliseconds += milliseconds }

    /// Starts the connector if it doesn't run, and lets it do a step.
    private func run(_ machine: SimulatedMachine, mustReceive: Bool = false) {
        do {
            guard machine.hasJoined else { return try join(machine) }
            if machine.connector == nil { machine.connector = try start(machine) }
            guard let connector = machine.connector else { return }
            while try connector.step(receiving: mustReceive || isHealing || chance(70)), machine.connector != nil {}
            unnamed[machine.id] = nil
        } catch is Crash {
            machine.connector = nil
        } catch FleetFailure.isCopied {
            // An own file that can't be read may have edits that the machine doesn't know.
            let mayRenew = mayRenew || kind.restoresHomes || kind.copiesMachines || kind.damagesFiles
            if !mayRenew { findings.append("A machine seems copied.") }
            if kind.damagesFiles { repeatApprovals(by: machine) }
            do { try machine.renew(as: .random(using: &random)) } catch { findings.append("\(error)") }
        } catch let error as DefaultsError where error.code == .notSaved {
            machine.connector = nil
        } catch FleetFailure.notWritten {
            machine.connector = nil
        } catch FleetFailure.system, FleetFailure.noOwnFiles {
            // The connector goes on when the disk is back.
        } catch {
            machine.connector = nil
            findings.append("\(error)")
        }
    }

    private func start(_ machine: SimulatedMachine) throws -> Connector {
        try Connector(
            machine.id, following: machine,
            by: FileExchange(of: machine.id, by: machine, with: PlainSeal()), keepingStateIn: machine,
            scope: { machine.held.contains($0.key) ? .machine : .roaming })
    }

    private func join(_ machine: SimulatedMachine) throws {
        let founder = machines[0]
        if machine !== founder, !founder.hasJoined { return }
        machine.isJoining = true
        defer { machine.isJoining = false }
        machine.prepare()
        let connector = try start(machine)
        if connector.state.hasJoined {
            machine.connector = connector
            while try connector.step(receiving: true) {}
            return
        }
        try connector.forgetFormerFleet()
        let differences = try connector.meet()
        if machine !== founder {
            if machine.approver == nil { approve(machine) }
            guard connector.hasApproval else { return }
        }
        let preference: Connector.Preference = chance(50) ? .mine : .fleet
        if preference == .mine { for difference in differences { uncertain.insert(difference.key) } }
        try connector.join(differences, preferring: preference)
        machine.connector = connector
        if machine === founder {
            hasList = true
            for name in Self.names { machine.change([name.description: true], of: TravelRules.list) }
        }
    }

    private func approve(_ machine: SimulatedMachine) {
        guard let helper = machines.filter({ $0 !== machine && $0.hasJoined }).randomElement(using: &random) else {
            return
        }
        let entry: PropertyListValue = ["Name": "new", "Approved": .integer(Int64(milliseconds))]
        helper.change([machine.id.text: entry], of: TravelRules.machines)
        machine.approver = helper
    }

    /// Removes a machine, and its files from all folders.
    func remove(_ machine: SimulatedMachine) {
        machines.removeAll { $0 === machine }
        for other in machines { other.folder[machine.id] = nil }
    }

    // MARK: The tool

    /// Brings a file of another machine, whole or in part.
    private func carry(to machine: SimulatedMachine) {
        guard let other = machines.filter({ $0 !== machine }).randomElement(using: &random),
            let (name, bytes) = other.folder[other.id]?.sorted(by: { $0.key < $1.key }).randomElement(using: &random)
        else { return }
        let part = chance(10) ? Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))) : bytes
        bring(name, part, of: other.id, to: machine)
    }

    /// Brings a file into a folder.
    ///
    /// If the machine has several owners, and there is another file with the name, the new one gets a name of its own.
    private func bring(_ name: String, _ bytes: [UInt8], of id: MachineID, to machine: SimulatedMachine) {
        let former = machine.folder[id]?[name]
        guard let former, former != bytes, !former.isEmpty, isShared(id) else {
            machine.folder[id, default: [:]][name] = bytes
            return
        }
        let parts = name.split(separator: ".")
        machine.folder[id]?["\(parts[0]).sync-conflict-\(ContentHash(bytes)).\(parts.dropFirst().joined())"] = bytes
    }

    /// Whether several machines have written as one, or none does anymore.
    private func isShared(_ id: MachineID) -> Bool {
        machines.contains { $0.former.contains(id) } || machines.count { $0.id == id } > 1
    }

    /// Brings everything that a machine has in its subfolders to another one, and removes what isn't there.
    private func mirror(_ other: SimulatedMachine, to machine: SimulatedMachine) {
        for id in other.former + [other.id] {
            if isShared(id) {
                for (name, bytes) in (other.folder[id] ?? [:]).sorted(by: { $0.key < $1.key }) {
                    if name.contains("conflict"), machine.folder[id]?.values.contains(bytes) == true { continue }
                    bring(name, bytes, of: id, to: machine)
                }
            } else if let files = other.folder[id] {
                machine.folder[id] = files
            }
        }
    }

    private func carryRemovals(to machine: SimulatedMachine) {
        for other in machines where other !== machine && !isShared(other.id) {
            let names = Set(other.folder[other.id]?.keys.map { $0 } ?? [])
            for name in machine.folder[other.id]?.keys.map({ $0 }) ?? [] where !names.contains(name) {
                machine.folder[other.id]?[name] = nil
            }
        }
    }

    // MARK: The end

    /// Lets everything arrive, and all connectors do what is left; returns whether they come to rest.
    func heal() -> Bool {
        for machine in machines where machine.isAway { move(machine) }
        for machine in machines {
            machine.unreadableFiles = []
            // If all subfolders are gone, people make them, as the failure says.
            if machine.hasJoined { machine.prepare() }
        }
        // Edits of busy keys are sent the next day.
        return rest(passing: 86_400_000 * 2)
    }

    /// Lets everything arrive, and all connectors do what they can, until they come to rest.
    ///
    /// - Parameter time: The time between their steps, in milliseconds.
    /// - Returns: Whether they do.
    func rest(passing time: UInt64 = 0) -> Bool {
        isHealing = true
        for round in 0..<60 {
            milliseconds += time
            let before = machines.map(\.folder)
            for machine in machines {
                for other in machines where other !== machine { mirror(other, to: machine) }
                run(machine)
            }
            let isAtRest = machines.allSatisfy { machine in
                guard let connector = machine.connector else { return false }
                return !connector.state.replica.unconfirmed.keys.contains(where: connector.isPending)
            }
            if round > 3, isAtRest, before == machines.map(\.folder) { return true }
        }
        return false
    }

    /// Finds what isn't as it must be after everything has arrived.
    func examine() {
        guard let first = machines.first else { return }
        let rules = TravelRules(first.values[TravelRules.list] ?? [:])
        if kind.movesDirectories, hasList, !Self.names.allSatisfy({ rules.includes($0.description) }) {
            findings.append("The list is lost.")
        }
        for machine in machines.dropFirst()
        where machine.values[TravelRules.list] ?? [:] != first.values[TravelRules.list] ?? [:] {
            findings.append("The lists differ.")
        }
        for domain in Self.names {
            for key in Self.keys {
                let fleetKey = FleetKey(domain.description, key)
                guard rules.reason(against: fleetKey) == nil else { continue }
                let values = machines.filter { !$0.held.contains(key) }.map { $0.values[domain]?[key] }
                if Set(values).count > 1 { findings.append("\(fleetKey) has \(values).") }
                let edits = machines.map { $0.connector?.state.replica.newest[fleetKey] }
                if kind.losesMachines, Set(edits).count > 1 { findings.append("\(fleetKey) has the edits \(edits).") }
                // With right clocks and complete logs, the last edit counts, whatever has happened in between.
                guard !kind.hasWrongClocks, !kind.losesLogs, !kind.changesList, !uncertain.contains(fleetKey),
                    let written = last[fleetKey]
                else { continue }
                if let value = values.first, value != written {
                    findings.append("\(fleetKey) is \(value as Any), not \(written as Any).")
                }
            }
        }
    }
}

struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var result = state
        result = (result ^ (result >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }
}
