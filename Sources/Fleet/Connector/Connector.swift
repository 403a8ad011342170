package import DefaultsCore
import PropertyList

/// The connector of one machine: it passes the agent's changes on to the fleet's files, and the files' to the agent.
///
/// It is a client of the agent like any other. It may be interrupted anywhere: what it sends is in files before the
/// state counts it as sent, and what it has received is in the state before the agent gets it. After an error, a new
/// connector continues from the state.
///
/// - ``followAgent()`` passes on records of the agent's log, in order. The state has the list of what travels as of the
///   same position.
/// - ``receive()`` reads files, and ``apply()`` sets what has come in the agent, if nobody has changed it since.
package final class Connector {
    /// The purpose that the history shows for edits of other machines.
    package static let purpose = "fleet"
    /// The number of sets after which a snapshot stands for them.
    static let snapshotDistance: UInt64 = 1_000
    /// The size of a file in bytes at which another one is begun.
    private static let fileSize = 8 << 20

    package let machine: MachineID
    private let transport: any FleetTransport
    private let seal: any FleetSeal
    private let store: any FleetStore
    let agent: any FleetAgent
    /// The scope of each key, by the machine's manifests.
    let scope: (FleetKey) -> TravelRules.Scope

    package internal(set) var state: ConnectorState
    /// Whether the state has changed since it was written.
    var isChanged = false
    /// The rules as of the cursor.
    var rules: TravelRules
    /// The positions of the records that were sent before a crash.
    var sent: Set<String> = []
    /// The sets that no file has yet.
    var unsent: [EnvelopeSet] = []
    /// The position of the record that is being passed on.
    var position: Cursor?
    /// The domains with changes that records didn't name, and the times of the latest such records.
    var unknown: [String: UInt64] = [:]
    /// Whether changes may have been missed.
    var hasGap = false
    /// The agent's answers, until the records before them have been passed on.
    var answers: [(cursor: Cursor, values: [FleetKey: PropertyListValue?])] = []
    /// The keys whose edits the agent has refused, until the next reading of the folder.
    var refusals: Set<FleetKey> = []
    /// Whether nothing has been done yet.
    private var isNew = true
    /// The problems with files and edits, by their subjects.
    package internal(set) var problems: [String: FleetProblem] = [:]

    /// Continues from the state, and begins to follow the agent.
    ///
    /// - Parameters:
    ///   - machine: The machine.
    ///   - agent: Its agent.
    ///   - transport: The fleet's files.
    ///   - seal: The fleet's key.
    ///   - store: The place of the state.
    ///   - scope: The scope of each key, by the machine's manifests.
    /// - Throws: If the agent, the files or the state can't be used.
    package init(
        _ machine: MachineID, following agent: any FleetAgent, by transport: any FleetTransport,
        with seal: any FleetSeal, keepingStateIn store: any FleetStore, scope: @escaping (FleetKey) -> TravelRules.Scope
    ) throws {
        (self.machine, self.agent, self.transport) = (machine, agent, transport)
        (self.seal, self.store, self.scope) = (seal, store, scope)
        state = try store.read() ?? ConnectorState(FleetReplica(machine))
        rules = TravelRules(state.list)
        let end = try agent.barrier(of: nil)
        try readOwnFiles(upTo: end)
        // What happens before a machine has joined isn't an edit in the fleet.
        if !state.hasJoined { move(to: end) }
        try agent.subscribe(after: state.cursor ?? end)
    }

    /// Reads what this machine has sent, and its state doesn't know.
    private func readOwnFiles(upTo end: Cursor) throws {
        var names = try transport.files(of: machine).filter { $0.last > state.last }
        // Nobody has read what comes before a gap; a name far ahead may be somebody else's.
        names.removeAll { $0.last - state.last > 1 << 32 }
        for name in names {
            guard case .success(let file)? = try open(name) else { continue }
            for set in file.sets {
                let cursor = set.cursor.flatMap { try? Cursor($0) }
                if let cursor, cursor.epoch == end.epoch, cursor.revision <= end.revision, !name.isSnapshot {
                    // The agent's log has it: there was a crash before the state was written.
                    state.replica.adopt(set)
                    for envelope in set.envelopes { state.know(envelope.key, as: envelope.value) }
                    sent.insert("\(cursor)")
                } else {
                    // The agent may not have it: state or preferences may have been restored from a copy.
                    _ = state.replica.receive(set)
                }
                if set.isEndOfBeginning { state.hasJoined = true }
            }
            state.last = max(state.last, name.last)
            isChanged = true
        }
    }

    // MARK: Steps

    /// Passes on records, reads and writes files, and applies what has been received, once each.
    ///
    /// - Parameter lists: Whether the folder may have new files, or time has passed.
    /// - Returns: Whether there may be more to do at once.
    /// - Throws: `FleetFailure` if the files can't be used now; the connector may go on later. After any other error,
    ///   another connector must continue from the state.
    package func step(reading lists: Bool) throws -> Bool {
        // While files can't be written, nothing more is taken from the agent's log, which keeps it.
        if !unsent.isEmpty { try save() }
        if lists { refusals = [] }
        try sendDelayed()
        try followAgent()
        if isNew, state.hasJoined {
            // Until the last connector ended, a manifest may have held values back that it no longer does.
            try sendBeginnings()
            isNew = false
        }
        try save()
        if lists {
            try checkOwnFiles()
            try receive()
            try save()
        }
        let hasApplied = try apply()
        try followAgent()
        try save()
        if state.last - state.snapshot >= Self.snapshotDistance || state.needsSnapshot { _ = try writeSnapshot() }
        return hasApplied
    }

    /// Writes the state if it has changed, after the files with what it counts as sent.
    func save() throws {
        try send()
        guard isChanged else { return }
        try store.write(state)
        isChanged = false
    }

    // MARK: Sending

    /// Writes files with what hasn't been sent.
    private func send() throws {
        while !unsent.isEmpty {
            var count = 0
            var size = 0
            while count < unsent.count, count < Int(Self.snapshotDistance), size < Self.fileSize {
                size += unsent[count].size
                count += 1
            }
            let name = FleetFileName(machine: machine, first: state.last + 1, last: state.last + UInt64(count))
            let file = FleetFile(name, Array(unsent.prefix(count)))
            switch try open(name) {
            case .success(let other)? where other.sets != file.sets: throw FleetFailure.isCopied
            case .success?: break
            // A file that can't be read isn't of this machine's.
            case .failure?, nil: try transport.add("\(name)", try file.sealed(with: seal))
            }
            unsent.removeFirst(count)
            state.last = name.last
            if file.sets.contains(where: \.isEndOfBeginning) { state.hasJoined = true }
            isChanged = true
        }
    }

    /// Opens a file; `nil` if there is none.
    private func open(_ name: FleetFileName) throws -> Result<FleetFile, FleetFileError>? {
        guard let bytes = try transport.contents(of: name) else { return nil }
        return Result { () throws(FleetFileError) in try FleetFile(name, opening: bytes, with: seal) }
    }

    /// Writes a snapshot if this machine's files aren't all there.
    private func checkOwnFiles() throws {
        guard state.last > 0 else { return }
        let files = try transport.files(of: machine)
        guard !files.isEmpty else { throw FleetFailure.noOwnFiles }
        var numbers = NumberRanges()
        for name in files where name.last <= state.last { numbers.insert(name.first...name.last) }
        if !numbers.contains(1...state.last), !state.needsSnapshot {
            state.needsSnapshot = true
            isChanged = true
        }
    }

    /// Writes a snapshot, and removes the files that it stands for.
    ///
    /// - Returns: Whether it was written; not while changes are still to be passed on.
    /// - Throws: If the agent, the files or the state can't be used.
    package func writeSnapshot() throws -> Bool {
        try save()
        // The values of a damaged file stay as they were sent.
        var snapshots: [String: DomainSnapshot] = [:]
        for domain in Set(state.replica.newest.keys.map(\.domain)) where rules.includes(domain) {
            snapshots[domain] = try agent.snapshot(of: try DomainName(domain))
        }
        func isKept(_ key: FleetKey) -> Bool {
            reason(against: key) != nil || state.delayed[key] != nil || snapshots[key.domain]?.damage != nil
        }
        var values: [FleetKey: PropertyListValue] = [:]
        for key in state.replica.newest.keys where !isKept(key) && state.replica.unconfirmed[key] == nil {
            values[key] = snapshots[key.domain]?.values[key.key]
            if state.hasChanged(key, to: values[key]) {
                // If no record is coming, one was missed.
                hasGap = try agent.barrier(of: nil) == state.cursor
                return false
            }
        }
        let old = try transport.files(of: machine).filter { $0.last <= state.last }
        var set = state.replica.snapshot(of: values) { !isKept($0) }
        // What is held back here, or changes too often, stays as it was sent.
        var kept: [FleetKey: Envelope] = [:]
        for name in old {
            guard case .success(let file)? = try open(name) else { continue }
            for envelope in file.sets.flatMap(\.envelopes)
            where isKept(envelope.key) && rules.reason(against: envelope.key) == nil {
                if kept[envelope.key].map({ $0.stamp < envelope.stamp }) ?? true { kept[envelope.key] = envelope }
            }
        }
        set.envelopes += kept.values.sorted { $0.key < $1.key }
        let name = FleetFileName(machine: machine, first: 1, last: state.last, isSnapshot: true)
        try transport.add("\(name)", try FleetFile(name, [set]).sealed(with: seal))
        state.snapshot = state.last
        state.needsSnapshot = false
        isChanged = true
        try save()
        for file in old where file != name { try transport.remove("\(file)") }
        return true
    }

    // MARK: Receiving

    /// Reads what other machines have sent; the state has it, and is durable, before the agent gets it.
    func receive() throws {
        var found: [String: FleetProblem] = [:]
        let machines = try transport.machines()
        // If somebody has removed a machine's files, this one's snapshot has its edits.
        for gone in state.received.keys where !machines.contains(gone) {
            state.received[gone] = nil
            state.needsSnapshot = true
            isChanged = true
        }
        if state.readsOwnFiles {
            for name in try transport.files(of: machine) {
                guard case .success(let file)? = try open(name) else { continue }
                for set in file.sets { _ = state.replica.receive(set) }
            }
            state.readsOwnFiles = false
            isChanged = true
        }
        for other in machines where other != machine {
            do { try receive(from: other, &found) } catch FleetFailure.system(let path, let number) {
                found["\(other)"] = .unreadable(path, number)
            }
            if let missing = state.received[other]?.firstGap { found["\(other) gap"] = .missing(other, missing) }
        }
        for (subject, problem) in problems where problem.isOfFile && found[subject] == nil { problems[subject] = nil }
        problems.merge(found) { $1 }
    }

    private func receive(from other: MachineID, _ found: inout [String: FleetProblem]) throws {
        for name in try transport.files(of: other) {
            guard state.received[other]?.contains(name.first...name.last) != true else { continue }
            do {
                switch try open(name) {
                case .success(let file)?: receive(file)
                // A tool may not have brought it to its end yet.
                case .failure(.incomplete)?: found["\(other)/\(name)"] = .file(other, name, .incomplete)
                // One for all files of a machine is enough.
                case .failure(let error)?: found["\(other)"] = .file(other, name, error)
                case nil: break
                }
            } catch FleetFailure.system(let path, let number) {
                found["\(other)/\(name)"] = .unreadable(path, number)
            }
        }
    }

    private func receive(_ file: FleetFile) {
        let now = agent.now.milliseconds
        let other = file.name.machine
        for set in file.sets {
            var set = set
            // A later version may know other names.
            set.envelopes.removeAll { (try? DomainName($0.key.domain)) == nil }
            for winner in state.replica.receive(set) { overrule(winner.key, by: winner.stamp) }
            // An edit that was made with knowledge of another one has its time if the clocks differ.
            let own = set.envelopes.filter { edit in
                edit.stamp.machine == other && edit.base.map { $0.time + 1 < edit.stamp.time } ?? true
            }
            let newest = own.map(\.stamp.milliseconds).max() ?? 0
            state.times[other] = (max(newest, state.times[other]?.newest ?? 0), now)
        }
        state.received[other, default: NumberRanges()].insert(file.name.first...file.name.last)
        isChanged = true
    }

    func overrule(_ key: FleetKey, by stamp: Stamp) {
        guard !TravelRules.isOwn(key.domain) else { return }
        state.overruled.removeAll { $0.key == key }
        state.overruled.append(.init(key: key, winner: stamp, milliseconds: agent.now.milliseconds))
        state.overruled.removeFirst(max(0, state.overruled.count - ConnectorState.maximumOverruled))
    }

    func values(of domain: String) throws(DefaultsError) -> DomainValues {
        try agent.snapshot(of: try DomainName(domain)).values
    }
}

/// A problem that doesn't keep the connector from its work.
package enum FleetProblem: Hashable, Sendable {
    /// A file can't be used.
    case file(MachineID, FleetFileName, FleetFileError)
    /// The system refuses to read a file or a machine's folder; the path, and the number of the error.
    case unreadable(String, Int32)
    /// Files of a machine are missing, while later ones have come; the number of the first missing set.
    case missing(MachineID, UInt64)
    /// An edit is refused.
    case refused(FleetKey, DefaultsError)

    fileprivate var isOfFile: Bool {
        switch self {
        case .file, .unreadable, .missing: true
        case .refused: false
        }
    }
}
