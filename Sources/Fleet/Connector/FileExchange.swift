import DefaultsCore

/// The exchange by files, which a tool carries: each machine writes numbered sets of edits, and now and then a snapshot
/// that stands for them.
///
/// A file counts by its contents. Each file that opens is received, even if another program has written it as its
/// machine, in any order, and under any name that a tool has given it. Nothing can be lost by that, since edits say
/// themselves what they knew.
/// Chain and vectors then tell what else is to be done:
///
/// - Another program has written one of this machine's files, or another machine has more of them than this one's state
///   knows: the state was restored or copied. The machine goes on under a new identifier (``FleetFailure/isCopied``).
/// - An own file is missing or damaged: a snapshot replaces it.
/// - Another machine's file that was received is gone, or there are two of one number: a snapshot has its edits.
/// - Sets are missing that a machine is known to have sent: a file asks for them, and a machine that has them writes a
///   snapshot.
///
/// Its functions return what they find; only the connector changes its state.
package final class FileExchange {
    /// The number of sets in a file at most.
    private static let maximumSets = 1_000
    /// The size of a file in bytes at which another one is begun.
    private static let fileSize = 8 << 20
    /// The time in milliseconds for which a tool may bring files and removals in any order.
    private static let patience: UInt64 = 30_000
    /// The time in milliseconds after which a machine that edits nothing says what it has received.
    private static let wordInterval: UInt64 = 86_400_000
    /// The time in milliseconds after which a file asks again for sets that are still missing; then it doubles.
    private static let askInterval: UInt64 = 3_600_000
    /// The time in milliseconds for which a copied machine is reported.
    private static let reportTime: UInt64 = 86_400_000

    /// The knowledge that ends with this connector.
    private struct Memory {
        /// The files of all machines that were read, by their names.
        var files: [MachineID: [String: KnownFile]] = [:]
        /// The other machines as which more than one has written, and when that was found, in milliseconds since 1970.
        var copied: [MachineID: UInt64] = [:]
        /// The times since which files have been missing or lost, in milliseconds since 1970.
        var since: [String: UInt64] = [:]
        /// The machines of which sets are missing, with the first of these.
        var missing: [MachineID: UInt64] = [:]
        /// The time in milliseconds since 1970 of the last request for them.
        var request: UInt64 = 0
        /// The time in milliseconds between that and the next.
        var interval: UInt64 = 0
        /// Whether the next file asks for them.
        ///
        /// Snapshots always do, since they replace files that others may not have read.
        var asks = false
    }

    /// The outcome of a reception.
    struct Received {
        var state: FilesState
        /// This machine's own sets, which it reads again.
        var own: [EnvelopeSet] = []
        /// The sets of other machines, in order.
        var sets: [(set: EnvelopeSet, machine: MachineID)] = []
        var problems: [String: FleetProblem] = [:]
        /// Whether other machines must be told something, even if nothing is edited here.
        var hasWord = false
    }

    private let machine: MachineID
    private let transport: any FleetTransport
    private let seal: any FleetSeal
    private var memory = Memory()

    package init(of machine: MachineID, by transport: any FleetTransport, with seal: any FleetSeal) {
        (self.machine, self.transport, self.seal) = (machine, transport, seal)
    }

    /// Finds files that this machine has sent but its state lacks, because it crashed before writing the state.
    ///
    /// - Throws: `isCopied` if one of them can't be read, so that this machine can't know what it has sent.
    func recover(_ state: inout FilesState, at milliseconds: UInt64) throws -> [FleetFile] {
        let last = state.last
        var files: [FleetFile] = []
        // A file after a gap counts, too; a name far ahead may be a stranger's.
        for name in try transport.files(of: machine) where name.last > last && name.last - last <= 1 << 32 {
            do {
                guard let (file, link) = try open(name) else { continue }
                state.add(file, link: link, at: milliseconds)
                files.append(file)
            } catch FleetFailure.system { try giveUpIdentifier() }
        }
        return files
    }

    /// Ends the work under this identifier because of an own file, unless the whole subfolder can't be read now.
    private func giveUpIdentifier() throws -> Never {
        guard try transport.machines().contains(machine) else { throw FleetFailure.noOwnFiles }
        _ = try transport.names(of: machine)
        throw FleetFailure.isCopied
    }

    /// Opens a file; returns `nil` if it doesn't exist or can't be opened.
    private func open(_ name: FleetFileName) throws -> (file: FleetFile, link: ContentHash)? {
        guard let bytes = try transport.contents(of: name),
            let file = try? FleetFile(name, opening: bytes, with: seal)
        else { return nil }
        return (file, ContentHash(bytes))
    }

    // MARK: Sending

    /// Makes this machine's subfolder again if something has removed it.
    ///
    /// - Throws: `noOwnFiles` if the disk may be missing: the subfolder is on it, and so are those of other machines.
    private func prepare(_ state: FilesState) throws {
        let machines = try transport.machines()
        if machines.contains(machine) { return }
        let isThere = machines.contains { other in
            // A subfolder alone may be a stranger's, and one that can't be read proves nothing.
            if state.received[other] != nil { return true }
            return ((try? transport.files(of: other)) ?? []).contains { (try? open($0)) != nil }
        }
        guard isThere else { throw FleetFailure.noOwnFiles }
        try transport.prepare()
    }

    /// Sends sets, and removes each of them once that is durable.
    func send(_ sets: inout [EnvelopeSet], updating state: inout FilesState, at milliseconds: UInt64) throws {
        if !sets.isEmpty { try prepare(state) }
        while !sets.isEmpty {
            var count = 0
            var size = 0
            while count < sets.count, count < Self.maximumSets, size < Self.fileSize {
                size += sets[count].size
                count += 1
            }
            let name = FleetFileName(machine: machine, first: state.last + 1, last: state.last + UInt64(count))
            let file = FleetFile(name, Array(sets.prefix(count)))
            // A file that can't be opened isn't one of this machine's.
            if let other = try open(name) {
                guard other.file.sets == file.sets else { throw FleetFailure.isCopied }
                state.add(file, link: other.link, at: milliseconds)
            } else {
                try add(file, updating: &state, at: milliseconds)
            }
            sets.removeFirst(count)
        }
    }

    /// Adds the next file of this machine's.
    private func add(_ file: FleetFile, updating state: inout FilesState, at milliseconds: UInt64) throws {
        try prepare(state)
        var file = file
        if !file.name.isSnapshot { file.omitted = state.omitted.keys.sorted() }
        (file.previous, file.vector) = (state.link, state.vector)
        if memory.asks || file.name.isSnapshot { file.missing = memory.missing.keys.sorted() }
        let bytes = try file.sealed(with: seal)
        do { try transport.add("\(file.name)", bytes) } catch FleetFailure.system(let path, let error) {
            throw FleetFailure.notWritten(path, error)
        }
        let known = KnownFile(name: file.name, link: ContentHash(bytes), previous: file.previous)
        memory.files[machine, default: [:]]["\(file.name)"] = known
        state.add(file, link: known.link, at: milliseconds)
        memory.asks = false
    }

    /// Writes a snapshot.
    ///
    /// It has more than this machine's own sets, perhaps the last copy of edits of a machine whose files are gone. So
    /// its number is one that no machine has read yet.
    ///
    /// - Parameters:
    ///   - set: The newest edits.
    ///   - machines: The machines of which an edit isn't among them, since its value is unknown here.
    ///   - state: The state.
    ///   - milliseconds: The time.
    /// - Throws: The reason why it can't be written.
    func sendSnapshot(
        _ set: EnvelopeSet, lacking machines: Set<MachineID>, updating state: inout FilesState, at milliseconds: UInt64
    ) throws {
        let name = FleetFileName(machine: machine, first: 1, last: state.last + 1, isSnapshot: true)
        var file = FleetFile(name, [set])
        file.omitted = machines.sorted()
        try add(file, updating: &state, at: milliseconds)
    }

    /// Returns the names of this machine's files, except for those that couldn't be read.
    func ownFiles(_ state: FilesState) -> [FleetFileName] {
        (memory.files[machine] ?? [:]).values.filter { !$0.isVariant }.map(\.name).filter { $0.last <= state.last }
            .sorted()
    }

    /// Returns the newest edits of keys in those files of this machine's that can be read.
    func newestEdits(in names: [FleetFileName], of keys: Set<FleetKey>) throws -> [FleetKey: Envelope] {
        var newest: [FleetKey: Envelope] = [:]
        for name in names where !keys.isEmpty {
            var envelopes: [Envelope] = []
            do { envelopes = try open(name)?.file.sets.flatMap(\.envelopes) ?? [] } catch FleetFailure.system {
                // The others can be read, unless the folder is gone.
                _ = try transport.names(of: machine)
            }
            for envelope in envelopes where keys.contains(envelope.key) {
                if newest[envelope.key].map({ $0.stamp < envelope.stamp }) ?? true { newest[envelope.key] = envelope }
            }
        }
        return newest
    }

    /// Removes files of this machine's for which a snapshot stands.
    func remove(_ names: [FleetFileName]) throws { for name in names { try transport.remove("\(name)") } }

    // MARK: Receiving

    /// Forgets which files were read, so that they are received again.
    func forget() { memory.files = [:] }

    /// Receives what other machines have sent.
    ///
    /// - Parameters:
    ///   - state: The state.
    ///   - milliseconds: The time.
    /// - Returns: What has arrived, and the state with it.
    /// - Throws: `isCopied` if another program has written as this machine; or the reason why files can't be used now.
    func receive(_ state: FilesState, at milliseconds: UInt64) throws -> Received {
        let former = memory
        do {
            var received = Received(state: state)
            try receive(&received, at: milliseconds)
            return received
        } catch {
            // Nothing of it counts.
            memory = former
            throw error
        }
    }

    private func receive(_ received: inout Received, at milliseconds: UInt64) throws {
        received.state.hasLosses = false
        try checkOwnFiles(&received, at: milliseconds)
        let machines = try transport.machines()
        var present: [MachineID: NumberRanges] = [:]
        for other in machines where other != machine {
            do {
                present[other] = try receive(from: other, into: &received, at: milliseconds)
            } catch FleetFailure.system(let path, let number) {
                received.problems["\(other)"] = .unreadable(path, number)
                // That isn't to say that its files are gone.
                present[other] = received.state.received[other]?.numbers ?? NumberRanges()
            }
        }
        try findLosses(having: present, in: &received, at: milliseconds)
        if let since = received.state.owes, milliseconds.isAtLeast(Self.wordInterval, after: since) {
            received.hasWord = true
        }
    }

    /// A machine's files as they are now.
    private struct Reading {
        var files: [String: KnownFile] = [:]
        /// The contents of those that are new.
        var contents: [(file: FleetFile, link: ContentHash)] = []
        /// The files that the system refuses to read.
        var refused: [(name: FleetFileName, text: String, path: String, error: Int32)] = []
    }

    /// Reads those of a machine's files that have changed.
    private func read(
        _ versions: [String: FleetFileVersion], of machine: MachineID, after former: [String: KnownFile],
        at milliseconds: UInt64
    ) throws -> Reading {
        var reading = Reading()
        let names = versions.keys.compactMap { text in FleetFileName(file: text, of: machine).map { (text, $0) } }
        for (text, name) in names.sorted(by: { ($0.1, $0.0.count) < ($1.1, $1.0.count) }) {
            reading.files[text] = former[text]
            guard let version = versions[text] else { continue }
            if let former = former[text], former.version == version, !former.isUncertain { continue }
            do {
                let bytes = try transport.contents(of: text, of: machine)
                reading.files[text] = nil
                guard let bytes else { continue }
                var file = KnownFile(
                    name: name, isVariant: "\(name)" != text, version: version, link: ContentHash(bytes))
                if let former = former[text], former.link == file.link {
                    (file.previous, file.error) = (former.previous, former.error)
                } else {
                    do throws(FleetFileError) {
                        let contents = try FleetFile(name, opening: bytes, with: seal)
                        file.previous = contents.previous
                        reading.contents.append((contents, file.link))
                    } catch { file.error = error }
                }
                file.isUncertain = file.error == .incomplete && version.isRecent(at: milliseconds)
                reading.files[text] = file
            } catch FleetFailure.system(let path, let error) {
                reading.refused.append((name, text, path, error))
            }
        }
        return reading
    }

    /// Reads this machine's files, and finds out whether they are all there as it has written them.
    ///
    /// Otherwise, a snapshot is due.
    ///
    /// - Throws: `isCopied` if another program has written as this machine, or if edits were lost both here and in the
    ///   folder; `noOwnFiles` if the disk may be missing.
    private func checkOwnFiles(_ received: inout Received, at milliseconds: UInt64) throws {
        let state = received.state
        guard state.last > 0 else { return received.state.endReadingOwn() }
        try prepare(state)
        let versions = try transport.versions(of: machine)
        let former = memory.files[machine] ?? [:]
        let reading = try read(versions, of: machine, after: former, at: milliseconds)
        for file in reading.refused { received.problems["own/\(file.text)"] = .unreadable(file.path, file.error) }
        let files = reading.files.values.filter { $0.error == nil }
        let end = Receipt(NumberRanges(1...state.last), link: state.link)
        if files.contains(where: { $0.name.last > end.numbers.last }) { throw FleetFailure.isCopied }
        if !KnownFile.forks(in: former.values + files, with: end).isEmpty { throw FleetFailure.isCopied }
        memory.files[machine] = reading.files
        received.own = reading.contents.flatMap(\.file.sets)
        var numbers = NumberRanges()
        for file in files where !file.isVariant { numbers.insert(file.name.first...file.name.last) }
        if numbers.contains(1...state.last) { return received.state.endReadingOwn() }
        // As this machine, it would say that it has all of its edits. Other machines may have them.
        if state.readsOwn { try giveUpIdentifier() }
        received.state.hasLosses = true
        received.problems["own"] = .ownFiles
        for (text, file) in reading.files where file.isVariant && file.error != nil {
            received.problems["own/\(text)"] = .variant(machine, text)
        }
    }

    /// Receives what another machine has sent; returns the numbers of its files.
    private func receive(
        from other: MachineID, into received: inout Received, at milliseconds: UInt64
    ) throws -> NumberRanges {
        let versions = try transport.versions(of: other)
        let former = try memory.files[other] ?? unchangedFiles(versions, of: other, in: received.state)
        let reading = try read(versions, of: other, after: former, at: milliseconds)
        let end = received.state.received[other] ?? Receipt()
        for (file, link) in reading.contents {
            received.state.accept(file, link: link, on: machine, at: milliseconds)
            received.sets += file.sets.map { ($0, other) }
        }
        memory.files[other] = reading.files
        received.state.digests[other] = KnownFile.digest(of: reading.files)
        let files = Array(former.values)
        func forks(in files: [KnownFile]) -> Set<ContentHash> { KnownFile.forks(in: files, with: end) }
        if !reading.contents.isEmpty, !forks(in: files + reading.files.values).isSubset(of: forks(in: files)) {
            // A snapshot has the edits of both files, even if only one of them stays.
            received.state.needsSnapshot = true
            memory.copied[other] = milliseconds
        }
        if let time = memory.copied[other], !milliseconds.isAtLeast(Self.reportTime, after: time) {
            received.problems["copied \(other)"] = .copied(other)
        }
        var present = NumberRanges()
        // A snapshot of any machine may have what is in a file.
        let had = received.state.vector[other]?.numbers
        for (text, file) in reading.files.sorted(by: { $0.key < $1.key }) {
            let numbers = file.name.first...file.name.last
            let isRead = had?.contains(numbers) == true
            // A tool brings back the file that it has replaced by a placeholder.
            if file.error == nil || file.isVariant { present.insert(numbers) }
            switch file.error {
            case nil: break
            case _ where file.isVariant: if !isRead { received.problems["\(other)/\(text)"] = .variant(other, text) }
            // A tool may not have brought it to its end yet.
            case .incomplete?:
                if !isRead { received.problems["\(other)/\(text)"] = .file(other, file.name, .incomplete) }
            // One for all files of a machine is enough.
            case let error?: received.problems["\(other)"] = .file(other, file.name, error)
            }
        }
        for file in reading.refused {
            present.insert(file.name.first...file.name.last)
            received.problems["\(other)/\(file.text)"] = .unreadable(file.path, file.error)
        }
        return present
    }

    /// Returns the files of a machine that were received before this connector began, if all are as they were then.
    private func unchangedFiles(
        _ versions: [String: FleetFileVersion], of other: MachineID, in state: FilesState
    ) throws -> [String: KnownFile] {
        guard let digest = state.digests[other], let received = state.received[other]?.numbers else { return [:] }
        var known: [String: KnownFile] = [:]
        for (text, version) in versions {
            guard let name = FleetFileName(file: text, of: other), received.contains(name.first...name.last) else {
                continue
            }
            do {
                guard let bytes = try transport.contents(of: text, of: other) else { continue }
                known[text] = KnownFile(
                    name: name, isVariant: "\(name)" != text, version: version, link: ContentHash(bytes))
            } catch FleetFailure.system {
                // It is read again like a file that has changed, and reported then.
                return [:]
            }
        }
        return KnownFile.digest(of: known) == digest ? known : [:]
    }

    // MARK: Losses

    /// Finds sets that were lost on their way, or are gone.
    ///
    /// - Throws: `isCopied` if another machine has sets of this one that its state doesn't know.
    private func findLosses(
        having present: [MachineID: NumberRanges], in received: inout Received, at milliseconds: UInt64
    ) throws {
        let state = received.state
        var current: [String: UInt64] = [:]
        func lasts(_ subject: String, for time: UInt64) -> Bool {
            let begin = min(memory.since[subject] ?? milliseconds, milliseconds)
            current[subject] = begin
            return milliseconds - begin >= time
        }
        /// The sets of each other machine that any machine says it has.
        var claims = state.received.mapValues { _ in NumberRanges() }
        let words = state.heard.filter { present[$0.key] != nil }.values
        for (other, receipt) in words.flatMap(\.vector) {
            if other == machine {
                try compare(receipt, with: &received.state)
            } else {
                claims[other, default: NumberRanges()].formUnion(receipt.numbers)
            }
        }
        let vector = state.vector
        var missing: [MachineID: UInt64] = [:]
        for (other, claimed) in claims {
            let had = vector[other]?.numbers ?? NumberRanges()
            // Without its subfolder, nothing comes that no machine has. A file in it may be one that can't be read.
            let last = max(claimed.last, present[other]?.last ?? 0, state.received[other]?.numbers.last ?? 0)
            if let number = present[other] == nil ? had.first(missingFrom: claimed) : had.firstMissing(upTo: last) {
                // One problem with a machine's files is enough.
                if !received.problems.keys.contains(where: { $0.hasPrefix(other.text) }) {
                    received.problems["\(other) missing"] = .missing(other, number)
                }
                if lasts("\(other) missing", for: 2 * Self.patience) { missing[other] = number }
            }
            let stands = (present[other] ?? NumberRanges()).union(state.stood[other]).union(state.omitted[other])
            guard let numbers = state.received[other]?.numbers, !stands.contains(numbers) else { continue }
            // The machine's own snapshot may not have come yet, but nothing comes without its subfolder.
            if present[other] == nil || lasts("\(other) gone", for: Self.patience) {
                received.state.hasLosses = true
            }
        }
        memory.since = current
        let isNew = missing != memory.missing
        if !missing.isEmpty, isNew || milliseconds.isAtLeast(memory.interval, after: memory.request) {
            // No machine may have them anymore.
            memory.interval = isNew ? Self.askInterval : 2 * memory.interval
            memory.request = milliseconds
            (memory.asks, received.hasWord) = (true, true)
        }
        memory.missing = missing
    }

    /// Compares what another machine has of this one with what this one has written.
    private func compare(_ receipt: Receipt, with state: inout FilesState) throws {
        let last = receipt.numbers.last
        if last > state.last {
            if state.hasJoined { throw FleetFailure.isCopied }
            // It was interrupted, and sends again what it had sent.
            return (state.last, state.link) = (last, receipt.link)
        }
        guard let link = receipt.link else { return }
        for file in (memory.files[machine] ?? [:]).values where !file.isVariant && file.error == nil {
            if file.name.last == last && file.link != link || file.name.isBeyond(last) { throw FleetFailure.isCopied }
        }
    }
}
