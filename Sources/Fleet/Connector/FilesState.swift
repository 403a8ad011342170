import DefaultsCore
import PropertyList

/// The knowledge of the fleet's files that must outlive a crash.
package struct FilesState: Hashable, Sendable {
    /// Whether the machine has sent the values that it had when it joined.
    var hasJoined = false
    /// Whether a snapshot has arrived with the approval of this machine, and so with all that the fleet had then.
    private(set) var hasApproval = false
    /// The number of the machine's last own set.
    package var last: UInt64 = 0
    /// The number of the last set in the machine's newest snapshot.
    var snapshot: UInt64 = 0
    /// Whether a snapshot is due before there are many sets.
    package var needsSnapshot = false
    /// Whether a snapshot is due because others need what this machine has.
    ///
    /// Others may need it again and again, so the machine writes at most one such snapshot an hour.
    package var needsRepair = false
    /// Whether the last reception found that files are lost, which is a reason for such a snapshot, too.
    var hasLosses = false
    /// The time in milliseconds since 1970 of the last such snapshot.
    private var repaired: UInt64 = 0
    /// Whether this machine's own edits must be received, too, since values were lost.
    package private(set) var readsOwn = false
    /// The hash of the machine's last own file; `nil` before the first.
    var link: ContentHash?
    /// The sets that the machine's newest snapshot stands for.
    private(set) var stood: [MachineID: NumberRanges] = [:]
    /// The sets of which it has all edits but some whose values are unknown here.
    package private(set) var omitted: [MachineID: NumberRanges] = [:]
    /// The sets of other machines whose files have been received.
    package private(set) var received: FleetVector = [:]
    /// The sets that snapshots of other machines stand for which have been received.
    private(set) var covered: [MachineID: NumberRanges] = [:]
    /// The files of other machines in the folder, whose contents have been received: their hashes, combined.
    var digests: [MachineID: ContentHash] = [:]
    /// The news of each other machine in its newest file, beside edits.
    private(set) var heard: [MachineID: Word] = [:]
    /// The time in milliseconds since 1970 since which this machine has edits that none of its files says it has.
    private(set) var owes: UInt64?

    /// The part of a machine's newest file that isn't about edits.
    struct Word: Hashable, Sendable {
        /// The number of the file's last set.
        var number: UInt64
        var vector: FleetVector
    }

    init() {}

    /// Everything that this machine has received, itself or with snapshots.
    package var vector: FleetVector {
        var vector = received
        for (machine, numbers) in covered { vector[machine, default: Receipt()].cover(numbers) }
        return vector
    }

    /// Returns whether the machine's newest snapshot has what is in a file of another machine.
    package func standsFor(_ name: FleetFileName) -> Bool {
        stood[name.machine]?.contains(name.first...name.last) == true
    }

    /// The number of sets after which a snapshot stands for them.
    private static let snapshotDistance: UInt64 = 1_000

    /// The time in milliseconds between snapshots that repair something.
    static let repairInterval: UInt64 = 3_600_000

    /// Returns whether the machine must write a snapshot.
    package func isSnapshotDue(at milliseconds: UInt64) -> Bool {
        if needsSnapshot || last - snapshot >= Self.snapshotDistance { return true }
        guard needsRepair || hasLosses || !omitted.isEmpty else { return false }
        return milliseconds.isAtLeast(Self.repairInterval, after: repaired)
    }

    /// Finds out whether a snapshot that is due has more than the newest one.
    ///
    /// - Parameter machines: The machines of which it lacks an edit.
    /// - Returns: Whether it has.
    func isWorthwhile(lacking machines: Set<MachineID>) -> Bool {
        if needsSnapshot || needsRepair || hasLosses || last - snapshot >= Self.snapshotDistance { return true }
        return machines.isStrictSubset(of: omitted.keys)
    }

    /// Puts off the next snapshot that isn't urgent, since it has no more than the newest one.
    mutating func postponeRepair(at milliseconds: UInt64) { repaired = milliseconds }

    /// Records that an own file is durable.
    mutating func add(_ file: FleetFile, link: ContentHash, at milliseconds: UInt64) {
        (last, self.link, owes) = (file.name.last, link, nil)
        if file.sets.contains(where: \.isEndOfBeginning) { hasJoined = true }
        guard file.name.isSnapshot else { return }
        if needsRepair || hasLosses || !file.omitted.isEmpty { repaired = milliseconds }
        (snapshot, stood, omitted) = (last, file.stands, [:])
        for machine in file.omitted { omitted[machine] = file.vector[machine]?.numbers ?? NumberRanges() }
        (needsSnapshot, needsRepair, hasLosses) = (false, false, false)
    }

    /// Records that the machine has read its own edits again.
    mutating func endReadingOwn() { readsOwn = false }

    /// Records a file of another machine that has been received.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - link: The hash of its contents.
    ///   - machine: This machine.
    ///   - milliseconds: The time.
    mutating func accept(_ file: FleetFile, link: ContentHash, on machine: MachineID, at milliseconds: UInt64) {
        let other = file.name.machine
        received[other, default: Receipt()].insert(file.name, link: link)
        if file.name.isSnapshot {
            let approval = FleetKey(TravelRules.machines.description, machine.text)
            // Its writer must have all that the approving machine had.
            let approvers = file.sets.flatMap(\.envelopes).filter { $0.key == approval }.map(\.stamp.machine)
            if approvers.contains(where: { $0 == other || file.stands[$0]?.isWhole == true }) { hasApproval = true }
            for (third, numbers) in file.stands where third != machine {
                covered[third, default: NumberRanges()].formUnion(numbers)
            }
        }
        if let word = heard[other], word.number >= file.name.last { return }
        // Of other machines, it can't give what it lacks itself.
        let claims = file.vector.filter { $0.key == machine || !file.omitted.contains($0.key) }
        heard[other] = Word(number: file.name.last, vector: claims)
        if owes == nil, file.sets.contains(where: { !$0.envelopes.isEmpty }) { owes = milliseconds }
        let vector = vector.merging([machine: Receipt(NumberRanges(1...max(1, last)))]) { $1 }
        // It lacks what this machine has.
        for third in file.missing {
            guard let numbers = vector[third]?.numbers else { continue }
            if file.vector[third]?.numbers.contains(numbers) != true { needsRepair = true }
        }
    }

    /// Arranges to receive everything again, also this machine's own edits, after values were lost.
    mutating func receiveAgain() { (received, covered, digests, readsOwn) = ([:], [:], [:], true) }

    /// Begins the files of another identifier, with a snapshot.
    mutating func renew() { (last, snapshot, link, stood, omitted, needsSnapshot) = (0, 0, nil, [:], [:], true) }
}

extension UInt64 {
    /// Returns whether this time is at least an interval after another one; also if it is before that one, since a
    /// clock was wrong.
    func isAtLeast(_ interval: UInt64, after time: UInt64) -> Bool { self < time || self - time >= interval }
}

// MARK: Property lists

extension FilesState {
    var propertyList: PropertyListValue {
        func number(_ value: UInt64) -> PropertyListValue { .integer(Int64(clamping: value)) }
        func byMachine<Value>(
            _ entries: [MachineID: Value], _ convert: (Value) -> PropertyListValue
        ) -> PropertyListValue {
            .dictionary(Dictionary(uniqueKeysWithValues: entries.map { ($0.key.text, convert($0.value)) }))
        }
        var entries: DomainValues = [
            "joined": .boolean(hasJoined), "last": number(last), "snapshot": number(snapshot),
            "vector": received.propertyList, "covered": byMachine(covered, \.propertyList),
            "stood": byMachine(stood, \.propertyList), "digests": byMachine(digests, \.propertyList),
            "heard": byMachine(heard) { [number($0.number), $0.vector.propertyList] },
        ]
        if !omitted.isEmpty { entries["omitted"] = byMachine(omitted, \.propertyList) }
        if needsSnapshot { entries["needsSnapshot"] = true }
        if needsRepair { entries["needsRepair"] = true }
        if repaired > 0 { entries["repaired"] = number(repaired) }
        if readsOwn { entries["readsOwn"] = true }
        if hasApproval { entries["approved"] = true }
        entries["link"] = link?.propertyList
        entries["owes"] = owes.map(number)
        return .dictionary(entries)
    }

    /// Reads a state; `nil` if it isn't one.
    init?(_ value: PropertyListValue?) {
        func byMachine<Value>(
            _ value: PropertyListValue?, _ convert: (PropertyListValue) -> Value?
        ) -> [MachineID: Value]? {
            guard case .dictionary(let entries)? = value else { return nil }
            var values: [MachineID: Value] = [:]
            for (text, value) in entries {
                guard let machine = MachineID(text), let value = convert(value) else { return nil }
                values[machine] = value
            }
            return values
        }
        guard case .dictionary(let entries)? = value, case .boolean(let hasJoined)? = entries["joined"],
            let last = UInt64(number: entries["last"]), let snapshot = UInt64(number: entries["snapshot"]),
            let received = FleetVector(entries["vector"]),
            let covered = byMachine(entries["covered"], { NumberRanges($0) }),
            let stood = byMachine(entries["stood"], { NumberRanges($0) }),
            let digests = byMachine(entries["digests"], { ContentHash($0) }),
            let heard = byMachine(entries["heard"], { Word($0) })
        else { return nil }
        (self.hasJoined, self.last, self.snapshot) = (hasJoined, last, snapshot)
        (self.received, self.covered, self.stood) = (received, covered, stood)
        (self.digests, self.heard) = (digests, heard)
        omitted = byMachine(entries["omitted"], { NumberRanges($0) }) ?? [:]
        needsSnapshot = entries["needsSnapshot"] == true
        needsRepair = entries["needsRepair"] == true
        repaired = UInt64(number: entries["repaired"]) ?? 0
        readsOwn = entries["readsOwn"] == true
        hasApproval = entries["approved"] == true
        link = ContentHash(entries["link"])
        owes = UInt64(number: entries["owes"])
    }
}

extension FilesState.Word {
    fileprivate init?(_ value: PropertyListValue) {
        guard case .array(let parts) = value, parts.count == 2, let number = UInt64(number: parts[0]),
            let vector = FleetVector(parts[1])
        else { return nil }
        self.init(number: number, vector: vector)
    }
}
