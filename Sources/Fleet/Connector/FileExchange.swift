import DefaultsCore

/// The exchange by files, which a tool carries: each machine writes numbered sets of edits, and now and then a snapshot
/// that stands for them.
///
/// A file counts by its contents. Whatever opens is received, whoever writes as its machine, in whatever order, and
/// under whatever name a tool has given it. Nothing can be lost by that, since edits say themselves what they knew.
/// Chain and vectors then tell what else is to be done:
///
/// - Another program has written one of this machine's files, or another machine has more of them than this one's state
///   knows: the state was restored or copied. The machine goes on under a new identifier (``FleetFailure/isCopied``).
/// - An own file is missing or damaged: a snapshot replaces it.
/// - Another machine's file that was received is gone, or there are two of one number: a snapshot has its edits.
/// - Sets are missing that a machine is known to have sent: a file asks for them, and a machine that has them writes a
///   snapshot.
package final class FileExchange {
    /// The number of sets after which a snapshot stands for them.
    private static let snapshotDistance: UInt64 = 1_000
    /// The size of a file in bytes at which another one is begun.
    private static let fileSize = 8 << 20
    /// The time in milliseconds for which a tool may bring files and removals in any order.
    private static let patience: UInt64 = 30_000
    /// The time in milliseconds after which a machine that edits nothing says what it has received.
    private static let wordInterval: UInt64 = 86_400_000

    /// A file as it was when it was last read.
    private struct KnownFile {
        var version: FleetFileVersion?
        /// The hash of its contents.
        var link: ContentHash
        /// The hash of the machine's previous file, if this one was opened.
        var previous: ContentHash?
        /// The reason why it can't be used.
        var error: FleetFileError?
    }

    private let transport: any FleetTransport
    private let seal: any FleetSeal
    /// The files of all machines that were read, by their names.
    private var files: [MachineID: [String: KnownFile]] = [:]
    /// The machines of which there are two different files with one number.
    private var copied: Set<MachineID> = []
    /// The times since which files have been missing or lost, in milliseconds since 1970.
    private var since: [String: UInt64] = [:]
    /// The first missing sets for which a file has asked last.
    private var asked: [MachineID: UInt64] = [:]
    /// The machines for whose sets the next file asks.
    private var asking: [MachineID] = []
    /// The hashes of the files that this machine has written; `nil` until those that are there were compared with the
    /// state.
    private var written: Set<ContentHash>?

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
            guard let (file, link) = try open(name) else { continue }
            for set in file.sets {
                connector.recover(set, upTo: name.isSnapshot ? nil : end)
                if set.isEndOfBeginning { connector.state.hasJoined = true }
            }
            if name.last > connector.state.last { (connector.state.last, connector.state.link) = (name.last, link) }
            connector.isChanged = true
        }
    }

    /// Opens a file; returns `nil` if it doesn't exist or can't be opened.
    private func open(_ name: FleetFileName) throws -> (file: FleetFile, link: ContentHash)? {
        guard let bytes = try transport.contents(of: name),
            let file = try? FleetFile(name, opening: bytes, with: seal)
        else { return nil }
        return (file, ContentHash(bytes))
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
            // A file that can't be read isn't of this machine's.
            if let other = try open(name) {
                guard other.file.sets == file.sets else { throw FleetFailure.isCopied }
                connector.state.link = other.link
            } else {
                try add(file, for: connector)
            }
            connector.unsent.removeFirst(count)
            connector.state.last = name.last
            if file.sets.contains(where: \.isEndOfBeginning) { connector.state.hasJoined = true }
            connector.isChanged = true
        }
    }

    /// Adds the next file of this machine's.
    private func add(_ file: FleetFile, for connector: Connector) throws {
        var file = file
        file.previous = connector.state.link
        file.vector = connector.state.vector
        file.missing = asking
        file.isSettled = connector.state.replica.unconfirmed.isEmpty
        let bytes = try file.sealed(with: seal)
        try transport.add("\(file.name)", bytes)
        let link = ContentHash(bytes)
        files[connector.machine, default: [:]]["\(file.name)"] = KnownFile(link: link, previous: file.previous)
        written?.insert(link)
        (connector.state.link, connector.state.owes, asking) = (link, nil, [])
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
            guard let file = try open(name)?.file else { continue }
            for envelope in file.sets.flatMap(\.envelopes)
            where isKept(envelope.key) && connector.rules.reason(against: envelope.key) == nil {
                if kept[envelope.key].map({ $0.stamp < envelope.stamp }) ?? true { kept[envelope.key] = envelope }
            }
        }
        set.envelopes += kept.values.sorted { $0.key < $1.key }
        let name = FleetFileName(machine: machine, first: 1, last: last + 1, isSnapshot: true)
        try add(FleetFile(name, [set]), for: connector)
        (connector.state.last, connector.state.snapshot) = (name.last, name.last)
        connector.state.stood = connector.state.vector.mapValues(\.numbers)
        connector.state.needsSnapshot = false
        connector.isChanged = true
        try connector.save()
        for file in old { try transport.remove("\(file)") }
        return true
    }

    /// Returns whether a snapshot of another machine has been received that it has written after a set of its own.
    func hasSnapshot(of other: MachineID, after number: UInt64, in state: ConnectorState) throws -> Bool {
        try transport.files(of: other).contains { name in
            name.isSnapshot && name.last > number
                && state.received[other]?.numbers.contains(1...name.last) == true
        }
    }

    // MARK: This machine's files

    /// Finds out whether this machine's files are all there as it has written them, and otherwise asks for a snapshot.
    ///
    /// - Returns: Whether they are.
    /// - Throws: `isCopied` if another program has written as this machine; `noOwnFiles` if the disk may be missing.
    private func checkOwnFiles(_ connector: Connector) throws -> Bool {
        let (machine, last) = (connector.machine, connector.state.last)
        guard last > 0 else { return true }
        let versions = try transport.versions(of: machine)
        let others = try transport.machines()
        // The place of the files is on the disk, and so is that of other machines' files.
        if !others.contains(machine) {
            guard others.contains(where: { connector.state.received[$0] != nil }) else { throw FleetFailure.noOwnFiles }
            try transport.prepare()
        }
        var known = (files[machine] ?? [:]).filter { versions[$0.key] != nil }
        var numbers = NumberRanges()
        for (text, version) in versions {
            guard let name = FleetFileName(text, of: machine) ?? FleetFileName(variant: text, of: machine) else {
                continue
            }
            if known[text]?.version != version {
                known[text] = try read(text, as: name, version, after: known[text]).file
            }
            // A snapshot stands for older ones.
            if let file = known[text], file.error == nil, let written, name.last >= connector.state.snapshot,
                !written.contains(file.link)
            {
                throw FleetFailure.isCopied
            }
            if "\(name)" == text, known[text]?.error == nil, known[text] != nil, name.last <= last {
                numbers.insert(name.first...name.last)
            }
        }
        files[machine] = known
        if written == nil { written = try follow(known, for: connector) }
        if numbers.contains(1...last) { return true }
        if !connector.state.needsSnapshot {
            connector.state.needsSnapshot = true
            connector.isChanged = true
        }
        return false
    }

    /// Follows the chain of this machine's files from the last one back, as far as they are there.
    ///
    /// - Returns: The hashes of the files.
    /// - Throws: `isCopied` if one isn't that which the next one names.
    private func follow(_ known: [String: KnownFile], for connector: Connector) throws -> Set<ContentHash> {
        let files = known.compactMap { text, file -> (name: FleetFileName, file: KnownFile)? in
            guard file.error == nil else { return nil }
            let name = FleetFileName(text, of: connector.machine) ?? FleetFileName(variant: text, of: connector.machine)
            return name.map { ($0, file) }
        }
        var links: [UInt64: ContentHash] = [:]
        links[connector.state.last] = connector.state.link
        for (name, file) in files.sorted(by: { $0.name.last > $1.name.last }) where links[name.last] == file.link {
            links[name.previous] = file.previous
        }
        let isCopied = files.contains { name, file in
            name.last > connector.state.last || links[name.last].map { $0 != file.link } == true
        }
        if isCopied { throw FleetFailure.isCopied }
        return Set(links.values).union(files.map(\.file.link))
    }

    // MARK: Receiving

    /// Receives what other machines have sent.
    func receive(_ connector: Connector) throws {
        var found: [String: FleetProblem] = [:]
        if try !checkOwnFiles(connector) { found["own"] = .ownFiles }
        let machines = try transport.machines()
        if connector.state.readsOwn {
            for name in try transport.files(of: connector.machine) {
                guard let file = try open(name)?.file else { continue }
                for set in file.sets { _ = connector.state.replica.receive(set) }
            }
            connector.state.readsOwn = false
            connector.isChanged = true
        }
        var present: [MachineID: NumberRanges] = [:]
        for other in machines where other != connector.machine {
            do { present[other] = try receive(from: other, for: connector, finding: &found) } catch FleetFailure.system(
                let path, let number)
            {
                found["\(other)"] = .unreadable(path, number)
            }
        }
        let gone = connector.state.heard.keys.filter { !machines.contains($0) }
        if !gone.isEmpty { connector.isChanged = true }
        for other in gone { connector.state.heard[other] = nil }
        try findLosses(present, for: connector, finding: &found)
        // Other machines learn what has arrived here, even if nothing is edited here.
        if let since = connector.state.owes, connector.agent.now.milliseconds >= since + Self.wordInterval {
            connector.unsent.append(EnvelopeSet([], cursor: nil))
        }
        connector.replaceProblems(with: found)
    }

    /// Reads a file; returns `nil` if it isn't there, or has the contents that it had.
    private func read(
        _ text: String, as name: FleetFileName, _ version: FleetFileVersion, after former: KnownFile?
    ) throws -> (file: KnownFile?, contents: FleetFile?) {
        guard let bytes = try transport.contents(of: text, of: name.machine) else { return (nil, nil) }
        var file = KnownFile(version: version, link: ContentHash(bytes))
        if var former, former.link == file.link {
            former.version = version
            return (former, nil)
        }
        do throws(FleetFileError) {
            let contents = try FleetFile(name, opening: bytes, with: seal)
            file.previous = contents.previous
            return (file, contents)
        } catch {
            file.error = error
            return (file, nil)
        }
    }

    /// Receives what another machine has sent; returns the numbers of its files.
    private func receive(
        from other: MachineID, for connector: Connector, finding found: inout [String: FleetProblem]
    ) throws -> NumberRanges {
        let versions = try transport.versions(of: other)
        var known = files[other] ?? unchangedFiles(versions, of: other, for: connector)
        known = known.filter { versions[$0.key] != nil }
        var present = NumberRanges()
        let names = versions.keys.compactMap { text in
            (FleetFileName(text, of: other) ?? FleetFileName(variant: text, of: other)).map { (text, $0) }
        }
        for (text, name) in names.sorted(by: { ($0.1, $0.0.count) < ($1.1, $1.0.count) }) {
            let isVariant = "\(name)" != text
            if let version = versions[text], known[text]?.version != version {
                do {
                    let former = known[text]
                    let (file, contents) = try read(text, as: name, version, after: former)
                    known[text] = file
                    if let file, let contents {
                        let written = isVariant ? known["\(name)"] : former
                        if isVariant, written?.link == file.link { continue }
                        // It was received already, with other contents.
                        if let written, written.error == nil { copied.insert(other) }
                        accept(contents, link: file.link, for: connector)
                    }
                } catch FleetFailure.system(let path, let number) {
                    found["\(other)/\(text)"] = .unreadable(path, number)
                }
            }
            guard let file = known[text] else { continue }
            let isRead = connector.state.received[other]?.numbers.contains(name.first...name.last) == true
            switch file.error {
            case nil: present.insert(name.first...name.last)
            case _ where isVariant:
                // A tool brings back what it has put something else in the place of.
                present.insert(name.first...name.last)
                if !isRead { found["\(other)/\(text)"] = .variant(other, text) }
            // A tool may not have brought it to its end yet.
            case .incomplete?:
                if !isRead { found["\(other)/\(text)"] = .file(other, name, .incomplete) }
            // One for all files of a machine is enough.
            case let error?: found["\(other)"] = .file(other, name, error)
            }
        }
        files[other] = known
        checkChain(of: other, for: connector)
        // A snapshot ends it.
        if copied.contains(other), connector.state.needsSnapshot { found["\(other) copied"] = .copied(other) }
        return present
    }

    /// Returns the files of a machine that were received before this connector began, if all are as they were then.
    private func unchangedFiles(
        _ versions: [String: FleetFileVersion], of other: MachineID, for connector: Connector
    ) -> [String: KnownFile] {
        guard let digest = connector.state.digests[other], let received = connector.state.received[other]?.numbers
        else { return [:] }
        var known: [String: KnownFile] = [:]
        for (text, version) in versions {
            guard let name = FleetFileName(text, of: other) ?? FleetFileName(variant: text, of: other),
                received.contains(name.first...name.last),
                let bytes = (try? transport.contents(of: text, of: other)) ?? nil
            else { continue }
            known[text] = KnownFile(version: version, link: ContentHash(bytes))
        }
        return Self.digest(of: known) == digest ? known : [:]
    }

    private static func digest(of known: [String: KnownFile]) -> ContentHash {
        ContentHash(value: known.values.reduce(0) { $1.error == nil ? $0 ^ $1.link.value : $0 })
    }

    /// Finds out whether a machine's files follow on one another.
    private func checkChain(of other: MachineID, for connector: Connector) {
        var chain: [UInt64: (name: FleetFileName, file: KnownFile)] = [:]
        for (text, file) in files[other] ?? [:] where file.error == nil {
            if let name = FleetFileName(text, of: other) { chain[name.last] = (name, file) }
        }
        for (name, file) in chain.values {
            if let previous = file.previous, let former = chain[name.previous], former.file.link != previous {
                copied.insert(other)
            }
        }
        let digest = Self.digest(of: files[other] ?? [:])
        if connector.state.digests[other] != digest {
            connector.state.digests[other] = digest
            connector.isChanged = true
        }
        // Whatever becomes of the two files, a snapshot has the edits of both.
        if copied.contains(other), since["\(other) copied"] == nil {
            since["\(other) copied"] = 0
            connector.state.needsSnapshot = true
            connector.isChanged = true
        }
    }

    private func accept(_ file: FleetFile, link: ContentHash, for connector: Connector) {
        let other = file.name.machine
        let isNews = connector.state.heard[other].map { $0.number < file.name.last } ?? true
        for set in file.sets { connector.receive(set, of: other, isNews: isNews) }
        connector.state.received[other, default: Receipt()].insert(file.name, link: link)
        if file.name.isSnapshot {
            for (machine, receipt) in file.vector {
                connector.state.covered[machine, default: NumberRanges()].formUnion(receipt.numbers)
            }
        }
        connector.isChanged = true
        guard isNews else { return }
        connector.state.heard[other] = .init(
            number: file.name.last, vector: file.vector, isSettled: file.isSettled)
        if file.sets.contains(where: { !$0.envelopes.isEmpty }), connector.state.owes == nil {
            connector.state.owes = connector.agent.now.milliseconds
        }
        let own = [connector.machine: Receipt(NumberRanges(1...max(1, connector.state.last)))]
        let vector = connector.state.vector.merging(own) { $1 }
        // It lacks what this machine has.
        for machine in file.missing {
            guard let numbers = vector[machine]?.numbers else { continue }
            if file.vector[machine]?.numbers.contains(numbers) != true { connector.state.needsSnapshot = true }
        }
    }

    // MARK: Losses

    /// Finds sets that were lost on their way, or are gone.
    ///
    /// - Throws: `isCopied` if another machine has sets of this one that its state doesn't know.
    private func findLosses(
        _ present: [MachineID: NumberRanges], for connector: Connector, finding found: inout [String: FleetProblem]
    ) throws {
        let (state, now) = (connector.state, connector.agent.now.milliseconds)
        var current = since.filter { $0.key.hasSuffix(" copied") }
        func lasts(_ subject: String, for time: UInt64) -> Bool {
            let begin = min(since[subject] ?? now, now)
            current[subject] = begin
            return now - begin >= time
        }
        var sent: [MachineID: UInt64] = [:]
        for (machine, receipt) in state.received { sent[machine] = receipt.numbers.last }
        for word in state.heard.values {
            for (machine, receipt) in word.vector {
                sent[machine] = max(sent[machine] ?? 0, receipt.numbers.last)
                if machine == connector.machine { try compare(receipt, for: connector) }
            }
        }
        let vector = state.vector
        var missing: [MachineID: UInt64] = [:]
        for (machine, last) in sent where machine != connector.machine {
            let had = (vector[machine]?.numbers ?? NumberRanges()).union(present[machine])
            if let number = had.firstMissing(upTo: last) {
                // One problem with a machine's files is enough.
                if !found.keys.contains(where: { $0.hasPrefix(machine.text) }) {
                    found["\(machine) missing"] = .missing(machine, number)
                }
                if lasts("\(machine) missing", for: 2 * Self.patience) { missing[machine] = number }
            }
            let stands = (present[machine] ?? NumberRanges()).union(state.stood[machine])
            guard let received = state.received[machine]?.numbers, !stands.contains(received) else { continue }
            // The machine's own snapshot may not have come yet, but nothing comes without its subfolder.
            if present[machine] == nil || lasts("\(machine) gone", for: Self.patience) {
                connector.state.needsSnapshot = true
                connector.isChanged = true
            }
        }
        since = current
        if !missing.isEmpty, missing != asked {
            (asked, asking) = (missing, missing.keys.sorted())
            connector.unsent.append(EnvelopeSet([], cursor: nil))
        } else if missing.isEmpty {
            asked = [:]
        }
    }

    /// Compares what another machine has of this one with what this one has written.
    private func compare(_ receipt: Receipt, for connector: Connector) throws {
        let last = receipt.numbers.last
        if last > connector.state.last {
            if connector.state.hasJoined { throw FleetFailure.isCopied }
            // It was interrupted, and sends again what it had sent.
            return connector.state.last = last
        }
        guard let link = receipt.link else { return }
        for (text, file) in files[connector.machine] ?? [:] where file.error == nil && file.link != link {
            if FleetFileName(text, of: connector.machine)?.last == last { throw FleetFailure.isCopied }
        }
    }

    /// Arranges to receive everything again, also this machine's own edits, after values were lost.
    func receiveAgain(_ connector: Connector) {
        (files, connector.state.received, connector.state.digests) = ([:], [:], [:])
        connector.state.readsOwn = true
        written = nil
        connector.isChanged = true
    }
}
