import DefaultsCore
import Fleet
import PropertyList

/// The end of a connector at some point of its work.
struct Crash: Error {}

/// A machine with its agent, its copy of the fleet's folder and its connector's state, all in memory.
final class SimulatedMachine: FleetAgent, FleetStore, FleetTransport {
    private(set) var id: MachineID
    /// The identifiers that it had before its state was found to be old or copied.
    private(set) var former: [MachineID] = []
    let world: World
    var clockOffset: Int64 = 0
    /// Whether values that it has now are from before it joined.
    var hasJoined: Bool { ((try? read()) ?? nil)?.hasJoined == true }
    var isJoining = false
    /// The machine that has approved it.
    var approver: SimulatedMachine?
    /// The keys that the agent refuses to set.
    var refused: Set<String> = []
    /// The keys that a manifest of this machine's holds back.
    var held: Set<String> = []
    var connector: Connector?
    /// Whether the connector ends when it writes its state.
    var crashesWhenWriting = false

    init(_ id: MachineID, in world: World) { (self.id, self.world) = (id, world) }

    // MARK: The agent

    private(set) var values: [DomainName: DomainValues] = [:]
    private var log: [LogRecord] = []
    private var epoch = Epoch(value: 1)
    private var fileTimes: [DomainName: Timestamp] = [:]
    private var position = 0
    private var gap: Cursor?

    var now: Timestamp {
        Timestamp(nanoseconds: (Int64(world.milliseconds) + clockOffset) * 1_000_000)
    }

    private var end: Cursor { Cursor(epoch: epoch, revision: Revision(log.count)) }

    func subscribe(after cursor: Cursor) {
        position = cursor.epoch == epoch ? Int(cursor.revision) : log.count
        gap = cursor.epoch == epoch ? nil : end
    }

    func nextEvent(within milliseconds: Int32) -> StreamEvent? {
        if let end = gap {
            gap = nil
            return .gap(from: .ofNoLog, to: end)
        }
        guard position < log.count else { return nil }
        position += 1
        return .record(log[position - 1], cursor: Cursor(epoch: epoch, revision: Revision(position)))
    }

    func snapshot(of domain: DomainName) throws(DefaultsError) -> DomainSnapshot {
        world.interfere(with: self)
        return DomainSnapshot(domain: Domain(domain), values: values[domain] ?? [:], cursor: end)
    }

    func domains() -> [DomainName] { values.filter { !$1.isEmpty }.keys.sorted() }

    func barrier(of domain: DomainName?) -> Cursor {
        world.interfere(with: self)
        return end
    }

    func set(
        _ values: Difference, of domain: DomainName, expecting expected: Difference?, purpose: Origin.Purpose?
    ) throws(DefaultsError) -> Cursor {
        world.interfere(with: self)
        if values.keys.contains(where: refused.contains) { throw DefaultsError(.invalidValue, "A refused key.") }
        if expected?.contains(where: { self.values[domain]?[$0.key] != $0.value }) == true {
            throw DefaultsError(.changed, "Another value.")
        }
        change(values, of: domain, purpose: purpose)
        return end
    }

    func fileTime(of domain: DomainName) -> Timestamp? { fileTimes[domain] }

    /// The contents of the preferences directory while it is away.
    private var stash: (values: [DomainName: DomainValues], times: [DomainName: Timestamp])?
    var isAway: Bool { stash != nil }

    /// Moves a file of the preferences directory away, or all of them.
    func moveAway(_ domain: DomainName? = nil) {
        guard stash == nil else { return }
        let moved = values.filter { domain == nil || $0.key == domain }
        stash = (moved, fileTimes.filter { moved[$0.key] != nil })
        for (domain, values) in moved.sorted(by: { $0.key < $1.key }) {
            change(values.mapValues { _ in nil }, of: domain, source: .file)
            (self.values[domain], fileTimes[domain]) = (nil, nil)
        }
    }

    /// Moves it back, in place of what was written meanwhile.
    func moveBack() {
        guard let (moved, times) = stash else { return }
        stash = nil
        for (domain, old) in moved.sorted(by: { $0.key < $1.key }) {
            var new: Difference = (values[domain] ?? [:]).mapValues { _ in nil }
            for (key, value) in old { new[key] = .some(value) }
            fileTimes[domain] = times[domain]
            change(new, of: domain, source: .file, at: times[domain])
        }
    }

    /// Changes values, as an app does or, if nothing tells the agent what has changed, a foreign writer.
    func change(
        _ values: Difference, of domain: DomainName, purpose: Origin.Purpose? = nil, isKnown: Bool = true,
        source: Writer = .app(AppIdentity(pid: 1, executable: "")), at time: Timestamp? = nil
    ) {
        let old = self.values[domain] ?? [:]
        let changes = values.filter { old[$0.key] != $0.value }.map {
            KeyChange(key: $0.key, old: old[$0.key], new: $0.value)
        }
        if changes.isEmpty { return }
        for change in changes { self.values[domain, default: [:]][change.key] = change.new }
        fileTimes[domain] = time ?? now
        let set = ChangeSet(
            domain: Domain(domain), source: source, changes: changes, origin: purpose.map { Origin(purpose: $0) })
        log.append(
            LogRecord(
                revision: Revision(log.count + 1), time: now,
                event: isKnown ? .change(set) : .unknown(Domain(domain))))
    }

    /// Loses the log, as with a removed state directory, and the values of a domain.
    func loseLog(and domain: DomainName?) {
        if let domain {
            values[domain] = nil
            fileTimes[domain] = nil
        }
        epoch = Epoch(value: epoch.value + 1)
        log = []
        (position, gap) = (0, nil)
        connector = nil
    }

    // MARK: Copies

    private struct Home {
        var id: MachineID
        var former: [MachineID]
        var values: [DomainName: DomainValues]
        var log: [LogRecord]
        var epoch: Epoch
        var fileTimes: [DomainName: Timestamp]
        var stored: PropertyListValue?
        var folder: [MachineID: [String: [UInt8]]]
    }

    private var backup: Home?
    var hasBackup: Bool { backup != nil }

    func backUp() {
        backup = Home(
            id: id, former: former, values: values, log: log, epoch: epoch, fileTimes: fileTimes, stored: stored,
            folder: folder)
    }

    /// Replaces its home by the backup of one, and perhaps the folder, too.
    func restore(from other: SimulatedMachine? = nil, withFolder: Bool) {
        guard let home = (other ?? self).backup else { return }
        (id, former, values, log, epoch) = (home.id, home.former, home.values, home.log, home.epoch)
        (fileTimes, stored, connector, gap) = (home.fileTimes, home.stored, nil, nil)
        if withFolder { folder = home.folder }
    }

    /// Goes on under another identifier.
    func renew(as new: MachineID) throws {
        guard let state = try read() else { return }
        stored = state.renewed(as: new).propertyList
        former.append(id)
        (id, connector) = (new, nil)
        prepare()
    }

    // MARK: The state

    private var stored: PropertyListValue?

    func read() throws(DefaultsError) -> ConnectorState? {
        guard let stored else { return nil }
        guard let state = ConnectorState(stored) else { throw DefaultsError(.damaged, "A state can't be read.") }
        if state.propertyList != stored { world.findings.append("A state isn't as it was stored.") }
        return state
    }

    func write(_ state: ConnectorState) throws(DefaultsError) {
        if crashesWhenWriting || world.crashes(self) { throw DefaultsError(.notSaved, "A crash.") }
        stored = state.propertyList
    }

    /// Whether it has sent anything.
    var hasSent: Bool { folder[id]?.isEmpty == false }

    // MARK: The folder

    /// The files of each machine that have arrived here.
    var folder: [MachineID: [String: [UInt8]]] = [:]

    func machines() throws -> [MachineID] { folder.keys.sorted() }
    func names(of machine: MachineID) throws -> [String] { try files(in: machine).keys.sorted() }

    private func files(in machine: MachineID) throws -> [String: [UInt8]] {
        if unreadable.contains(machine) { throw FleetFailure.system("\(machine)", 13) }
        return folder[machine] ?? [:]
    }

    func contents(of name: String, of machine: MachineID) throws -> [UInt8]? {
        if let contents = folder[machine]?[name], unreadableFiles.contains(contents) {
            throw FleetFailure.system("\(machine)/\(name)", 13)
        }
        return folder[machine]?[name]
    }

    func prepare() { if folder[id] == nil { folder[id] = [:] } }

    /// The machines whose subfolders can't be read.
    var unreadable: Set<MachineID> = []
    /// Whether a file that is written on keeps its time.
    var hasCoarseTimes = false
    /// The contents of files that can't be read.
    var unreadableFiles: Set<[UInt8]> = []

    func versions(of machine: MachineID) throws -> [String: FleetFileVersion] {
        try files(in: machine).mapValues {
            let number = hasCoarseTimes ? 0 : Int(truncatingIfNeeded: ContentHash($0).value)
            return FleetFileVersion([number, $0.count], changedAt: hasCoarseTimes ? now.milliseconds : 0)
        }
    }

    /// Whether the disk of the folder reports an error after each file that it has stored.
    var failsToSync = false

    func add(_ name: String, _ bytes: [UInt8]) throws {
        if world.crashes(self) { throw Crash() }
        if world.fails() { throw FleetFailure.system(name, 28) }
        guard folder[id] != nil else { throw FleetFailure.noOwnFiles }
        world.check(bytes, named: name, of: self)
        folder[id]?[name] = bytes
        if failsToSync || world.fails() { throw FleetFailure.system(name, 5) }
        if world.crashes(self) { throw Crash() }
    }

    func remove(_ name: String) throws {
        if world.crashes(self) { throw Crash() }
        folder[id]?[name] = nil
    }
}

/// A seal that hides nothing, but knows complete files.
struct PlainSeal: FleetSeal {
    let number = "0000000000000000"

    func name(for text: String) -> String { ContentHash(Array(text.utf8)).description }

    private func sum(_ bytes: [UInt8], _ context: String) -> [UInt8] {
        Array(ContentHash(bytes + Array(context.utf8)).description.utf8)
    }

    func close(_ bytes: [UInt8], for context: String) throws -> [UInt8] { bytes + sum(bytes, context) }

    func open(_ bytes: [UInt8], for context: String) throws -> [UInt8] {
        let contents = Array(bytes.dropLast(16))
        guard sum(contents, context) == Array(bytes.suffix(16)) else { throw Crash() }
        return contents
    }
}
