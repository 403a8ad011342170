package import DefaultsCore
import Linux

/// The exchange by the registers of a service, one for each key, which has the key's newest edit.
///
/// A register is replaced only if it is as this machine knows it, and only by a later edit. So it never goes back,
/// whoever writes at the same time, and an edit that is sent once more changes nothing. If the service has lost
/// registers, as when a backup was restored, the machines that know later edits send them again.
package final class RegisterExchange: FleetExchange {
    private let service: any RegisterService
    private let seal: any FleetSeal
    /// The time between comparisons, in milliseconds.
    private let interval: Int64
    /// The time after which a difference is looked at again, in milliseconds.
    private static let secondLook: Int64 = 30_000

    /// The registers that have come, without their contents.
    private var mirror = RegisterMirror()
    /// The edits that the registers have, by their names.
    private var stamps: [String: Stamp] = [:]
    /// The names of registers that can't be read; they are never written.
    private var unreadable: Set<String> = []
    /// The keys whose registers may have to be written.
    private var suspects: Set<FleetKey> = []
    /// Whether the service is being watched.
    private var isConnected = false
    private var suspicion: [String: Int64] = [:]
    private var nextComparison = MonotonicTime.distantFuture

    package init(_ service: any RegisterService, with seal: any FleetSeal, comparingEvery interval: Int64) {
        (self.service, self.seal, self.interval) = (service, seal, interval)
    }

    private var prefix: String { RegisterName.edits(seal) }

    private func name(of key: FleetKey) -> String { EditRegister.name(of: key, with: seal) }

    /// Does something with the service; after a failure, it must be watched anew.
    private func attempt(_ body: () throws -> Void) throws {
        do { try body() } catch {
            isConnected = false
            throw error
        }
    }

    // MARK: Receiving

    package var eventDescriptor: Int32 { service.eventDescriptor }

    package func recover(_ connector: Connector, upTo end: Cursor) throws {
        let isLost = connector.state.readsOwn
        try connect(connector) { edit in
            connector.recover(EnvelopeSet([edit.envelope], cursor: edit.cursor), upTo: isLost ? nil : end)
        }
    }

    /// Reads all registers, and watches them from there, unless that is done.
    ///
    /// - Parameters:
    ///   - connector: The connector.
    ///   - receiveOwn: A function that is called with each later edit of this machine's own.
    /// - Throws: `RegisterFailure` if the service can't be used.
    private func connect(_ connector: Connector, receiveOwn: ((EditRegister) -> Void)? = nil) throws {
        if isConnected { return }
        // After a backup was restored, other registers may have the revisions of those that have come. So all are read.
        let range = try service.range(prefix)
        try service.watch(prefix, after: range.revision)
        (stamps, unreadable) = ([:], [])
        try take(range.registers, connector, receiveOwn: receiveOwn)
        if hasExpired(range, since: connector.state.service, at: connector.agent.now) { removeExpired(connector) }
        _ = mirror.replace(
            with: RegisterRange(range.registers.map(\.bare), revision: range.revision, service: range.service))
        connector.state.readsOwn = false
        suspects.formUnion(connector.state.replica.newest.keys)
        recordReception(connector)
        isConnected = true
        suspicion = [:]
        nextComparison = .now() + min(interval, Self.secondLook)
    }

    /// Returns whether the service may have removed the marks of removals since it was read: it keeps them for 90 days.
    private func hasExpired(
        _ range: RegisterRange, since last: ConnectorState.ReceivedService?, at now: Timestamp
    ) -> Bool {
        guard let last, last.identifier == range.service, last.revision <= range.revision else { return false }
        return now.milliseconds > last.milliseconds + Self.lifetime
    }

    private static let day: UInt64 = 86_400_000
    /// The time for which the mark of a removal is certainly kept, in milliseconds.
    private static let lifetime = 88 * day

    /// Removes the keys that the service no longer has, which it does after a removal only.
    private func removeExpired(_ connector: Connector) {
        let unsent = Set(connector.unsent.flatMap(\.envelopes).map(\.key))
        let now = connector.agent.now.milliseconds
        for (key, stamp) in connector.state.replica.newest
        where stamp.milliseconds + Self.lifetime < now && connector.state.tooLarge[key] == nil && !unsent.contains(key)
        {
            let name = name(of: key)
            if stamps[name] != nil || unreadable.contains(name) { continue }
            let removal = Stamp(time: stamp.time + 1, machine: stamp.machine)
            _ = connector.state.replica.receive(
                EnvelopeSet([Envelope(key, nil, stamp: removal, base: stamp)], cursor: nil))
            connector.isChanged = true
        }
    }

    /// Records that everything was received, once a day.
    private func recordReception(_ connector: Connector) {
        guard let revision = mirror.revision else { return }
        let now = connector.agent.now.milliseconds
        if let last = connector.state.service, last.identifier == mirror.service, now < last.milliseconds + Self.day {
            return
        }
        connector.state.service = .init(identifier: mirror.service, revision: revision, milliseconds: now)
        connector.isChanged = true
    }

    /// Receives registers.
    private func take(
        _ registers: [Register], _ connector: Connector, receiveOwn: ((EditRegister) -> Void)? = nil
    ) throws {
        var sets: [MachineID: EnvelopeSet] = [:]
        for register in registers {
            guard let edit = EditRegister(register, opening: seal) else {
                unreadable.insert(register.name)
                continue
            }
            unreadable.remove(register.name)
            let (key, stamp) = (edit.envelope.key, edit.envelope.stamp)
            stamps[register.name] = edit.isWithdrawn ? nil : stamp
            suspects.insert(key)
            if edit.isWithdrawn || connector.state.replica.newest[key].map({ $0 >= stamp }) ?? false { continue }
            if stamp.machine != connector.machine {
                sets[stamp.machine, default: EnvelopeSet([], cursor: nil)].envelopes.append(edit.envelope)
            } else if let receiveOwn {
                receiveOwn(edit)
            } else if connector.state.readsOwn {
                connector.recover(EnvelopeSet([edit.envelope], cursor: nil), upTo: nil)
            } else {
                // This machine hasn't made it.
                throw FleetFailure.isCopied
            }
        }
        for (machine, set) in sets { connector.receive(set, of: machine) }
    }

    package func receive(_ connector: Connector) throws {
        try attempt {
            try connect(connector)
            while let event = try service.nextEvent(within: 0) { try take(event, connector) }
            if nextComparison <= .now() { try compare(connector) }
        }
        var found = connector.state.tooLarge.map { key, size in
            ("size \(key.domain)/\(key.key)", FleetProblem.tooLarge(key, Int(size)))
        }
        if !unreadable.isEmpty { found.append(("registers", .registers(unreadable.count))) }
        connector.replaceProblems(with: Dictionary(found) { $1 })
    }

    private func take(_ event: RegisterEvent, _ connector: Connector) throws {
        guard case .changes(let changed, let removed, let revision) = event else { return try readAll(connector) }
        // A watch may repeat events.
        let new = changed.filter { register in
            mirror.registers[register.name].map { $0.revision < register.revision } ?? true
        }
        try take(new, connector)
        _ = mirror.apply(.changes(new.map(\.bare), removed: removed, revision: revision))
        for name in removed where mirror.registers[name] == nil { stamps[name] = nil }
        if !removed.isEmpty { suspects.formUnion(connector.state.replica.newest.keys) }
    }

    /// Compares what has come with what the service has.
    private func compare(_ connector: Connector) throws {
        switch mirror.compare(with: try service.revisions(prefix), suspecting: &suspicion) {
        case .same:
            recordReception(connector)
            nextComparison = .now() + interval
        case .mayBeOnItsWay: nextComparison = .now() + min(interval, Self.secondLook)
        case .lost: try readAll(connector)
        }
    }

    private func readAll(_ connector: Connector) throws {
        isConnected = false
        try connect(connector)
    }

    package func receiveAgain(_ connector: Connector) {
        isConnected = false
        connector.state.readsOwn = true
        connector.isChanged = true
    }

    // MARK: Sending

    package func send(_ connector: Connector) throws {
        while !connector.unsent.isEmpty {
            try attempt {
                try connect(connector)
                // As many sets as one write takes; a larger one is written in parts.
                var count = 0
                var edits: [FleetKey: EditRegister] = [:]
                while count < connector.unsent.count {
                    let set = connector.unsent[count]
                    let new = set.envelopes.count { edits[$0.key] == nil }
                    if count > 0, edits.count + new > RegisterLimits.writes { break }
                    for envelope in set.envelopes
                    where edits[envelope.key].map({ $0.envelope.stamp <= envelope.stamp }) ?? true {
                        edits[envelope.key] = EditRegister(envelope, cursor: set.cursor)
                    }
                    count += 1
                }
                try write(edits.values.sorted { $0.envelope.key < $1.envelope.key }, connector)
                if connector.unsent.prefix(count).contains(where: \.isEndOfBeginning) {
                    connector.state.hasJoined = true
                }
                connector.unsent.removeFirst(count)
                connector.state.last += UInt64(count)
                connector.isChanged = true
            }
        }
    }

    /// An edit, with the write that sends it.
    private struct Sending {
        let edit: EditRegister
        let write: RegisterWrite
    }

    /// Sends edits, in parts of which each is written at once.
    private func write(_ edits: [EditRegister], _ connector: Connector) throws {
        var part: [Sending] = []
        var size = 0
        for edit in edits {
            let key = edit.envelope.key
            let sending = Sending(
                edit: edit,
                write: RegisterWrite(
                    name(of: key), try edit.sealed(with: seal),
                    isTemporary: edit.envelope.value == nil && !edit.isWithdrawn))
            let isTooLarge = sending.write.size > RegisterLimits.bytes
            if isTooLarge != (connector.state.tooLarge[key] != nil) {
                connector.state.tooLarge[key] = isTooLarge ? Int64(sending.write.size) : nil
                connector.isChanged = true
            }
            if isTooLarge { continue }
            if part.count == RegisterLimits.writes || size + sending.write.size > RegisterLimits.bytes {
                while try !write(part, connector) {}
                (part, size) = ([], 0)
            }
            part.append(sending)
            size += sending.write.size
        }
        while try !write(part, connector) {}
    }

    /// Writes those edits that are later than their registers'.
    ///
    /// - Returns: Whether that is done; not if others have changed the registers, which has been received now.
    private func write(_ part: [Sending], _ connector: Connector) throws -> Bool {
        let part = part.filter { sending in
            if unreadable.contains(sending.write.name) { return false }
            guard let stamp = stamps[sending.write.name] else { return !sending.edit.isWithdrawn }
            return sending.edit.isWithdrawn || stamp < sending.edit.envelope.stamp
        }
        if part.isEmpty { return true }
        let names = part.map(\.write.name)
        let expected = Dictionary(names.map { ($0, mirror.registers[$0]?.revision ?? 0) }) { $1 }
        if let revision = try service.write(part.map(\.write), expecting: expected) {
            for sending in part {
                let name = sending.write.name
                stamps[name] = sending.edit.isWithdrawn ? nil : sending.edit.envelope.stamp
                mirror.set(Register(name, [], revision: revision), at: name)
            }
            return true
        }
        for name in names {
            let register = try service.register(name)
            if let register {
                if mirror.registers[name]?.revision != register.revision { try take([register], connector) }
            } else {
                stamps[name] = nil
            }
            mirror.set(register?.bare, at: name)
        }
        return false
    }

    // MARK: Repairing

    package func repair(_ connector: Connector) throws { _ = try settle(connector) }

    package func settle(_ connector: Connector) throws -> Bool {
        guard isConnected, connector.unsent.isEmpty else { return false }
        if connector.state.needsSnapshot { try withdraw(connector) }
        let newest = connector.state.replica.newest
        // This machine knows a later edit than the service.
        let late = suspects.filter { key in
            newest[key].map { stamp in stamps[name(of: key)].map { $0 < stamp } ?? true } ?? false
        }
        if !late.isEmpty {
            guard let (set, _) = try connector.newestEdits(where: late.contains) else { return false }
            // Of a removal, nothing is left after a time.
            let edits = set.envelopes.filter { $0.value != nil || stamps[name(of: $0.key)] != nil }
            if !edits.isEmpty { connector.unsent.append(EnvelopeSet(edits, cursor: nil)) }
        }
        suspects = []
        try connector.save()
        return true
    }

    /// Takes the values out of the registers of keys that no longer travel.
    private func withdraw(_ connector: Connector) throws {
        let edits = connector.state.replica.newest.sorted { $0.key < $1.key }.compactMap { key, stamp in
            if connector.rules.reason(against: key) == nil || stamps[name(of: key)] == nil {
                return nil as EditRegister?
            }
            var edit = EditRegister(Envelope(key, nil, stamp: stamp, base: nil), cursor: nil)
            edit.isWithdrawn = true
            return edit
        }
        try attempt { try write(edits, connector) }
        connector.state.needsSnapshot = false
        connector.isChanged = true
    }
}

extension Register {
    /// The register without its contents.
    fileprivate var bare: Register { Register(name, [], revision: revision) }
}
