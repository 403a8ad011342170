package import DefaultsCore
import Linux

/// The exchange by the registers of a service, one for each key, which has the key's newest edit.
///
/// A register is replaced only if it is as this machine knows it, and only by a later edit. So it never goes back,
/// whoever writes at the same time, and an edit that is sent once more changes nothing. The marks of removals stay, and
/// so do the values of keys that no longer travel. If the service has lost registers, as when a backup was restored,
/// the machines that know later edits send them again.
///
/// After a failure of the service, another exchange must take its place.
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
    /// The sizes in bytes of edits that are too large for a register.
    private var tooLarge: [FleetKey: Int] = [:]
    /// Whether the service is being watched.
    private var isConnected = false
    /// The differences that the last comparison found, which changes on their way may explain.
    private var suspicion: [String: Int64] = [:]
    private var nextComparison = MonotonicTime.distantFuture

    package init(_ service: any RegisterService, with seal: any FleetSeal, comparingEvery interval: Int64) {
        (self.service, self.seal, self.interval) = (service, seal, interval)
    }

    private var prefix: String { RegisterName.edits(seal) }

    private func name(of key: FleetKey) -> String { EditRegister.name(of: key, with: seal) }

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
        try take(range.registers, for: connector, receiveOwn: receiveOwn)
        _ = mirror.replace(
            with: RegisterRange(range.registers.map(\.bare), revision: range.revision, service: range.service))
        connector.state.readsOwn = false
        suspects.formUnion(connector.state.replica.newest.keys)
        isConnected = true
        suspicion = [:]
        nextComparison = .now() + min(interval, Self.secondLook)
    }

    /// Receives registers.
    private func take(
        _ registers: [Register], for connector: Connector, receiveOwn: ((EditRegister) -> Void)? = nil
    ) throws {
        var sets: [MachineID: EnvelopeSet] = [:]
        for register in registers {
            guard let edit = EditRegister(register, opening: seal) else {
                unreadable.insert(register.name)
                continue
            }
            unreadable.remove(register.name)
            let (key, stamp) = (edit.envelope.key, edit.envelope.stamp)
            stamps[register.name] = stamp
            suspects.insert(key)
            if connector.state.replica.newest[key].map({ $0 >= stamp }) ?? false { continue }
            tooLarge[key] = nil
            if stamp.machine != connector.machine {
                sets[stamp.machine, default: EnvelopeSet([], cursor: nil)].envelopes.append(edit.envelope)
            } else if let receiveOwn {
                receiveOwn(edit)
            } else if connector.state.readsOwn || edit.cursor == nil {
                // Another machine may have sent it again.
                connector.recover(EnvelopeSet([edit.envelope], cursor: nil), upTo: nil)
            } else {
                // This machine hasn't made it.
                throw FleetFailure.isCopied
            }
        }
        for (machine, set) in sets { connector.receive(set, of: machine) }
    }

    package func receive(_ connector: Connector) throws {
        try receiveEvents(connector)
        if nextComparison <= .now() { try compare(connector) }
        var found = tooLarge.filter { connector.reason(against: $0.key) == nil }.map { key, size in
            ("size \(key.domain)/\(key.key)", FleetProblem.tooLarge(key, size))
        }
        if !unreadable.isEmpty { found.append(("registers", .registers(unreadable.count))) }
        connector.replaceProblems(with: Dictionary(found) { $1 })
    }

    private func receiveEvents(_ connector: Connector) throws {
        try connect(connector)
        while let event = try service.nextEvent(within: 0) { try take(event, for: connector) }
    }

    private func take(_ event: RegisterEvent, for connector: Connector) throws {
        guard case .changes(let changed, let removed, let revision) = event else { return try readAll(connector) }
        // A watch may repeat events.
        let new = changed.filter { register in
            mirror.registers[register.name].map { $0.revision < register.revision } ?? true
        }
        try take(new, for: connector)
        _ = mirror.apply(.changes(new.map(\.bare), removed: removed, revision: revision))
        for name in removed where mirror.registers[name] == nil { forget(name) }
        if !removed.isEmpty { suspects.formUnion(connector.state.replica.newest.keys) }
    }

    /// Forgets a register that somebody has removed.
    private func forget(_ name: String) {
        stamps[name] = nil
        unreadable.remove(name)
    }

    /// Compares what has come with what the service has.
    private func compare(_ connector: Connector) throws {
        switch mirror.compare(with: try service.revisions(prefix), suspecting: &suspicion) {
        case .same: nextComparison = .now() + interval
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
            // What came before this may have changed the same registers.
            try receiveEvents(connector)
            // As many whole sets as one write takes; a larger one is written in parts.
            var count = 0
            var size = 0
            var sendings: [FleetKey: Sending] = [:]
            while count < connector.unsent.count {
                let set = connector.unsent[count]
                let new = try set.envelopes.compactMap { try sending(of: EditRegister($0, cursor: set.cursor)) }
                let keys = Set(new.map(\.edit.envelope.key)).union(sendings.keys)
                size += new.reduce(0) { $0 + $1.write.size }
                if count > 0, keys.count > RegisterLimits.writes || size > RegisterLimits.bytes { break }
                for sending in new {
                    let former = sendings[sending.edit.envelope.key]?.edit.envelope.stamp
                    if former.map({ $0 <= sending.edit.envelope.stamp }) ?? true {
                        sendings[sending.edit.envelope.key] = sending
                    }
                }
                count += 1
            }
            try write(sendings.values.sorted { $0.edit.envelope.key < $1.edit.envelope.key }, for: connector)
            if connector.unsent.prefix(count).contains(where: \.isEndOfBeginning) { connector.state.hasJoined = true }
            connector.unsent.removeFirst(count)
            connector.state.last += UInt64(count)
            connector.isChanged = true
        }
    }

    /// An edit, with the write that sends it.
    private struct Sending {
        let edit: EditRegister
        let write: RegisterWrite
    }

    /// Returns the write of an edit; `nil` if it is too large.
    private func sending(of edit: EditRegister) throws -> Sending? {
        let key = edit.envelope.key
        let write = RegisterWrite(name(of: key), try edit.sealed(with: seal))
        tooLarge[key] = write.size > RegisterLimits.bytes ? write.size : nil
        return tooLarge[key] == nil ? Sending(edit: edit, write: write) : nil
    }

    /// Sends edits, in parts of which each is written at once.
    private func write(_ sendings: [Sending], for connector: Connector) throws {
        var part: [Sending] = []
        var size = 0
        for sending in sendings {
            if part.count == RegisterLimits.writes || size + sending.write.size > RegisterLimits.bytes {
                while try !writePart(part, for: connector) {}
                (part, size) = ([], 0)
            }
            part.append(sending)
            size += sending.write.size
        }
        while try !writePart(part, for: connector) {}
    }

    /// Writes those edits that are later than their registers'.
    ///
    /// - Returns: Whether that is done; not if others have changed the registers, which has been received now.
    private func writePart(_ part: [Sending], for connector: Connector) throws -> Bool {
        let part = part.filter { sending in
            if unreadable.contains(sending.write.name) { return false }
            return stamps[sending.write.name].map { $0 < sending.edit.envelope.stamp } ?? true
        }
        if part.isEmpty { return true }
        let names = part.map(\.write.name)
        let expected = Dictionary(names.map { ($0, mirror.registers[$0]?.revision ?? 0) }) { $1 }
        if let revision = try service.write(part.map(\.write), expecting: expected) {
            for sending in part {
                let name = sending.write.name
                let envelope = sending.edit.envelope
                stamps[name] = envelope.stamp
                mirror.set(Register(name, [], revision: revision), at: name)
                // Its domain has been lost since, and comes back with this edit.
                if connector.state.replica.newest[envelope.key].map({ $0 < envelope.stamp }) ?? true {
                    connector.recover(EnvelopeSet([envelope], cursor: nil), upTo: nil)
                }
            }
            return true
        }
        for name in names {
            let register = try service.register(name)
            if let register {
                if mirror.registers[name]?.revision != register.revision { try take([register], for: connector) }
            } else {
                forget(name)
            }
            mirror.set(register?.bare, at: name)
        }
        return false
    }

    // MARK: Repairing

    package func repair(_ connector: Connector) throws { _ = try settle(connector) }

    package func settle(_ connector: Connector) throws -> Bool {
        guard isConnected, connector.unsent.isEmpty else { return false }
        let newest = connector.state.replica.newest
        // This machine knows a later edit than the service.
        let late = suspects.filter { key in
            newest[key].map { stamp in stamps[name(of: key)].map { $0 < stamp } ?? true } ?? false
        }
        suspects = []
        if late.isEmpty { return true }
        guard let (set, isKept) = try connector.newestEdits(where: late.contains) else {
            suspects = late
            return false
        }
        // The values of a damaged file, and those that change too often, are sent later.
        suspects = late.filter { isKept($0) && connector.reason(against: $0) == nil }
        if !set.envelopes.isEmpty { connector.unsent.append(set) }
        try connector.save()
        return true
    }
}

extension Register {
    /// The register without its contents.
    fileprivate var bare: Register { Register(name, [], revision: revision) }
}
