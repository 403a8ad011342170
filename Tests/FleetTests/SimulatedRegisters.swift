import DefaultsCore
import Fleet
import PropertyList

/// A service of registers in memory, with the faults that etcd and networks have.
final class SimulatedRegisters {
    struct Faults {
        /// Percentages of calls.
        var isUnreachable = 0
        var losesAnswer = 0
        /// Percentages of events of a watch.
        var losesEvent = 0
        var repeatsEvent = 0
    }

    private struct Event {
        let revision: Int64
        let changed: [Register]
        let removed: [String]
    }

    var faults = Faults()
    private var random: Generator
    private(set) var registers: [String: Register] = [:]
    private(set) var revision: Int64 = 1
    private(set) var compacted: Int64 = 0
    private var events: [Event] = []
    private var starts = 0

    init(seed: UInt64) { random = Generator(state: seed) }

    private func chance(_ percent: Int) -> Bool {
        percent > 0 && Int.random(in: 0..<100, using: &random) < percent
    }

    /// Forgets all changes up to now.
    func compact() {
        compacted = revision
        events = []
    }

    /// Returns to an earlier state, as when a backup is restored, for which members must be started again.
    func restore(_ registers: [String: Register], at revision: Int64) {
        (self.registers, self.revision, events, compacted) = (registers, revision, [], revision)
        starts += 1
    }

    /// Removes a register as when its lease ends.
    func expire(_ name: String) {
        guard registers[name] != nil else { return }
        revision += 1
        registers[name] = nil
        events.append(Event(revision: revision, changed: [], removed: [name]))
    }

    /// A connection of one machine.
    final class Connection: RegisterService {
        private let service: SimulatedRegisters
        private var watched: (prefix: String, after: Int64, start: Int)?
        private var isGone = false
        /// The number of writes after which the service can't be reached; `nil` for no limit.
        var writesLeft: Int?
        /// Something that happens after the next write, whose answer is then lost.
        var interruption: (() -> Void)?
        /// Whether the service refuses everything.
        var refuses = false
        /// Something that happens before each write.
        var beforeWrite: (() -> Void)?

        init(to service: SimulatedRegisters) { self.service = service }

        private func attempt() throws(RegisterFailure) {
            if refuses { throw .refused("It is full.") }
            if service.chance(service.faults.isUnreachable) {
                watched = nil
                throw .unavailable("It can't be reached.")
            }
        }

        func range(_ prefix: String) throws(RegisterFailure) -> RegisterRange {
            try attempt()
            return RegisterRange(
                service.registers.values.filter { $0.name.hasPrefix(prefix) }.sorted { $0.name < $1.name },
                revision: service.revision, service: 1)
        }

        func register(_ name: String) throws(RegisterFailure) -> Register? {
            try attempt()
            return service.registers[name]
        }

        func revisions(_ prefix: String) throws(RegisterFailure) -> RegisterRevisions {
            try attempt()
            return RegisterRevisions(
                service.registers.filter { $0.key.hasPrefix(prefix) }.mapValues(\.revision),
                revision: service.revision, service: 1)
        }

        func write(
            _ writes: [RegisterWrite], expecting expected: [String: Int64]
        ) throws(RegisterFailure) -> Int64? {
            beforeWrite?()
            try attempt()
            if let left = writesLeft {
                if left == 0 { throw .unavailable("It can't be reached.") }
                writesLeft = left - 1
            }
            if Set(writes.map(\.name)).count != writes.count || writes.count > RegisterLimits.writes {
                throw .refused("A write has too many registers, or one twice.")
            }
            for (name, revision) in expected where service.registers[name]?.revision ?? 0 != revision { return nil }
            service.revision += 1
            for write in writes {
                service.registers[write.name] = write.contents.map {
                    Register(write.name, $0, revision: service.revision)
                }
            }
            service.events.append(
                Event(
                    revision: service.revision, changed: writes.compactMap { service.registers[$0.name] },
                    removed: writes.filter { $0.contents == nil }.map(\.name)))
            if let body = interruption {
                interruption = nil
                body()
                throw .unavailable("The answer is lost.")
            }
            if service.chance(service.faults.losesAnswer) { throw .unavailable("The answer is lost.") }
            return service.revision
        }

        func watch(_ prefix: String, after revision: Int64) throws(RegisterFailure) {
            try attempt()
            watched = (prefix, revision, service.starts)
        }

        var eventDescriptor: Int32 { -1 }

        func nextEvent(within milliseconds: Int32) throws(RegisterFailure) -> RegisterEvent? {
            try attempt()
            guard let watched, watched.start == service.starts else { throw .unavailable("The watch has ended.") }
            // Compacted changes are those before the next one that is wanted.
            if watched.after < service.compacted {
                self.watched = nil
                return .gap
            }
            for event in service.events where event.revision > watched.after {
                self.watched?.after = event.revision
                let changed = event.changed.filter { $0.name.hasPrefix(watched.prefix) }
                let removed = event.removed.filter { $0.hasPrefix(watched.prefix) }
                if changed.isEmpty && removed.isEmpty || service.chance(service.faults.losesEvent) { continue }
                if service.chance(service.faults.repeatsEvent) {
                    self.watched?.after = max(service.compacted, event.revision - 2)
                }
                return .changes(changed, removed: removed, revision: event.revision)
            }
            return nil
        }
    }
}

/// A machine of a service, with its files and its state in memory.
final class SimulatedReceiver: ReceiverFiles, ReceiverStore {
    let machine: MachineID
    let groups: [String]
    private let service: SimulatedRegisters
    private var stored: PropertyListValue
    private var crashes: () -> Bool
    private(set) var receiver: Receiver?
    var files: [PushedLayer: [DomainName: DomainValues]] = [:]
    /// The domains whose files can't be used.
    var damaged: Set<DomainName> = []
    private(set) var gaps = 0

    init(_ machine: MachineID, in groups: [String], of service: SimulatedRegisters, crashing: @escaping () -> Bool) {
        (self.machine, self.groups, self.service, crashes) = (machine, groups, service, crashing)
        stored = ReceiverState(machine).propertyList
    }

    func values(of domain: DomainName, in layer: PushedLayer) throws(DefaultsError) -> DomainValues {
        if damaged.contains(domain) { throw DefaultsError(.damaged, "It is damaged.") }
        return files[layer]?[domain] ?? [:]
    }

    func version(of domain: DomainName, in layer: PushedLayer) -> String {
        "\(files[layer]?[domain]?.sorted { $0.key < $1.key }.description ?? "")"
    }

    func set(_ values: Difference, of domain: DomainName, in layer: PushedLayer) throws(DefaultsError) {
        if crashes() { throw DefaultsError(.notSaved, "A crash.") }
        if damaged.contains(domain) { throw DefaultsError(.damaged, "It is damaged.") }
        for (key, value) in values { files[layer, default: [:]][domain, default: [:]][key] = value }
        if crashes() { throw DefaultsError(.notSaved, "A crash.") }
    }

    func write(_ state: ReceiverState) throws(DefaultsError) {
        if crashes() { throw DefaultsError(.notSaved, "A crash.") }
        stored = state.propertyList
    }

    func end() { receiver = nil }

    /// Has the next start set everything again.
    func restore() {
        receiver = nil
        guard var state = ReceiverState(stored) else { return }
        state.restore()
        stored = state.propertyList
    }

    /// Connects if need be, and receives what has come; returns whether nothing was in the way.
    @discardableResult
    func run(examining: Bool = false) -> Bool {
        do {
            let receiver: Receiver
            if let current = self.receiver {
                receiver = current
            } else {
                guard let state = ReceiverState(stored) else { return false }
                receiver = Receiver(
                    state, in: groups, following: SimulatedRegisters.Connection(to: service), with: PlainSeal(),
                    setting: self, keepingStateIn: self)
                try receiver.connect()
                self.receiver = receiver
            }
            for _ in 0..<50 {
                let outcome = try receiver.follow(within: 0)
                if outcome == .gap { gaps += 1 }
                if outcome == .nothing { break }
            }
            // As the loop of the program does after a time.
            if !receiver.problems.isEmpty { try receiver.apply() }
            if examining, try receiver.examine() == .gap { gaps += 1 }
            try receiver.sendReport(named: "\(machine)", version: "1", at: 1)
            return true
        } catch {
            self.receiver = nil
            return false
        }
    }
}
