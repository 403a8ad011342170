import DefaultsCore

/// The exchange by files, which a tool carries: each machine writes numbered sets of edits, and now and then a snapshot
/// that stands for them.
package final class FileExchange {
    /// The number of sets after which a snapshot stands for them.
    private static let snapshotDistance: UInt64 = 1_000
    /// The size of a file in bytes at which another one is begun.
    private static let fileSize = 8 << 20

    private let transport: any FleetTransport
    private let seal: any FleetSeal

    package init(_ transport: any FleetTransport, with seal: any FleetSeal) {
        (self.transport, self.seal) = (transport, seal)
    }

    /// Finds edits that this machine has sent but its state lacks, because it crashed before writing the state.
    ///
    /// - Parameters:
    ///   - connector: The connector, which hasn't followed its agent yet.
    ///   - end: The end of the agent's log.
    /// - Throws: If the files can't be used.
    func recover(_ connector: Connector, upTo end: Cursor) throws {
        let last = connector.state.last
        var names = try transport.files(of: connector.machine).filter { $0.last > last }
        // Nobody has read what comes before a gap; a name far ahead may be somebody else's.
        names.removeAll { $0.last - last > 1 << 32 }
        for name in names {
            guard case .success(let file)? = try open(name) else { continue }
            for set in file.sets {
                connector.recover(set, upTo: name.isSnapshot ? nil : end)
                if set.isEndOfBeginning { connector.state.hasJoined = true }
            }
            connector.state.last = max(connector.state.last, name.last)
            connector.isChanged = true
        }
    }

    /// Opens a file; returns `nil` if it doesn't exist.
    private func open(_ name: FleetFileName) throws -> Result<FleetFile, FleetFileError>? {
        guard let bytes = try transport.contents(of: name) else { return nil }
        return Result { () throws(FleetFileError) in try FleetFile(name, opening: bytes, with: seal) }
    }

    // MARK: Sending

    /// Sends what hasn't been sent, and returns when that is durable.
    func send(_ connector: Connector) throws {
        while !connector.unsent.isEmpty {
            var count = 0
            var size = 0
            while count < connector.unsent.count, count < Int(Self.snapshotDistance), size < Self.fileSize {
                size += connector.unsent[count].size
                count += 1
            }
            let last = connector.state.last
            let name = FleetFileName(machine: connector.machine, first: last + 1, last: last + UInt64(count))
            let file = FleetFile(name, Array(connector.unsent.prefix(count)))
            switch try open(name) {
            case .success(let other)? where other.sets != file.sets: throw FleetFailure.isCopied
            case .success?: break
            // A file that can't be read isn't of this machine's.
            case .failure?, nil: try transport.add("\(name)", try file.sealed(with: seal))
            }
            connector.unsent.removeFirst(count)
            connector.state.last = name.last
            if file.sets.contains(where: \.isEndOfBeginning) { connector.state.hasJoined = true }
            connector.isChanged = true
        }
    }

    /// Finds out whether this machine's files are all there, and otherwise asks for a snapshot.
    private func checkOwnFiles(_ connector: Connector) throws {
        let last = connector.state.last
        guard last > 0 else { return }
        let files = try transport.files(of: connector.machine)
        guard !files.isEmpty else { throw FleetFailure.noOwnFiles }
        var numbers = NumberRanges()
        for name in files where name.last <= last { numbers.insert(name.first...name.last) }
        if !numbers.contains(1...last), !connector.state.needsSnapshot {
            connector.state.needsSnapshot = true
            connector.isChanged = true
        }
    }

    /// Writes a snapshot if one is due.
    func repair(_ connector: Connector) throws {
        let state = connector.state
        if state.last - state.snapshot >= Self.snapshotDistance || state.needsSnapshot { _ = try settle(connector) }
    }

    /// Writes a snapshot, and removes the files that it stands for.
    ///
    /// It has more than this machine's own sets, perhaps the last copy of edits of a machine whose files are gone. So
    /// its number is one that no machine has read yet.
    ///
    /// - Returns: Whether it did; not while changes are still to be passed on.
    func settle(_ connector: Connector) throws -> Bool {
        try connector.save()
        // The files are needed once more.
        if connector.state.readsOwn { return false }
        guard let (newest, isKept) = try connector.newestEdits() else { return false }
        var set = newest
        let (machine, last) = (connector.machine, connector.state.last)
        let old = try transport.files(of: machine).filter { $0.last <= last }
        // What is held back here, or changes too often, stays as it was sent.
        var kept: [FleetKey: Envelope] = [:]
        for name in old {
            guard case .success(let file)? = try open(name) else { continue }
            for envelope in file.sets.flatMap(\.envelopes)
            where isKept(envelope.key) && connector.rules.reason(against: envelope.key) == nil {
                if kept[envelope.key].map({ $0.stamp < envelope.stamp }) ?? true { kept[envelope.key] = envelope }
            }
        }
        set.envelopes += kept.values.sorted { $0.key < $1.key }
        let name = FleetFileName(machine: machine, first: 1, last: last + 1, isSnapshot: true)
        try transport.add("\(name)", try FleetFile(name, [set]).sealed(with: seal))
        (connector.state.last, connector.state.snapshot) = (name.last, name.last)
        connector.state.needsSnapshot = false
        connector.isChanged = true
        try connector.save()
        for file in old { try transport.remove("\(file)") }
        return true
    }

    /// Returns whether a snapshot of another machine has been received that it has written after a set of its own.
    func hasSnapshot(of other: MachineID, after number: UInt64, in state: ConnectorState) throws -> Bool {
        try transport.files(of: other).contains { name in
            name.isSnapshot && name.last > number && state.received[other]?.contains(1...name.last) == true
        }
    }

    // MARK: Receiving

    /// Receives what other machines have sent.
    func receive(_ connector: Connector) throws {
        try checkOwnFiles(connector)
        var found: [String: FleetProblem] = [:]
        let machines = try transport.machines()
        // If somebody has removed a machine's files, this one's snapshot has its edits.
        for gone in connector.state.received.keys where !machines.contains(gone) {
            connector.state.received[gone] = nil
            connector.state.needsSnapshot = true
            connector.isChanged = true
        }
        if connector.state.readsOwn {
            for name in try transport.files(of: connector.machine) {
                guard case .success(let file)? = try open(name) else { continue }
                for set in file.sets { _ = connector.state.replica.receive(set) }
            }
            connector.state.readsOwn = false
            connector.isChanged = true
        }
        for other in machines where other != connector.machine {
            do { try receive(from: other, for: connector, finding: &found) } catch FleetFailure.system(
                let path, let number)
            {
                found["\(other)"] = .unreadable(path, number)
            }
            if let missing = connector.state.received[other]?.firstGap {
                found["\(other) gap"] = .missing(other, missing)
            }
        }
        connector.replaceProblems(with: found)
    }

    private func receive(
        from other: MachineID, for connector: Connector, finding found: inout [String: FleetProblem]
    ) throws {
        for name in try transport.files(of: other) {
            guard connector.state.received[other]?.contains(name.first...name.last) != true else { continue }
            do {
                switch try open(name) {
                case .success(let file)?:
                    for set in file.sets { connector.receive(set, of: other) }
                    connector.state.received[other, default: NumberRanges()].insert(name.first...name.last)
                    connector.isChanged = true
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

    /// Arranges to receive everything again, also this machine's own edits, after values were lost.
    func receiveAgain(_ connector: Connector) {
        connector.state.received = [:]
        connector.state.readsOwn = true
        connector.isChanged = true
    }
}
