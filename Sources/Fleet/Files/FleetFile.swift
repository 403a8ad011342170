package import DefaultsCore
package import PropertyList

/// A file of a machine in the fleet's folder: some of its edits, or with a snapshot, all keys as it knows them.
///
/// The files of a machine form a chain, and each has a vector. These tell a machine that was restored or copied from
/// itself, an edit from one that was lost on its way, and what all machines have.
package struct FleetFile: Hashable, Sendable {
    package var name: FleetFileName
    package var sets: [EnvelopeSet]
    /// The hash of the machine's previous file; `nil` in its first.
    package var previous: ContentHash?
    /// The sets of other machines that its writer had received.
    package var vector: FleetVector = [:]
    /// The machines of which its writer lacks sets, which it asks others for.
    package var missing: [MachineID] = []
    /// The machines of which its writer's newest snapshot lacks an edit, since it doesn't know the value anymore.
    var omitted: [MachineID] = []

    package init(_ name: FleetFileName, _ sets: [EnvelopeSet]) { (self.name, self.sets) = (name, sets) }

    /// The sets of other machines that a snapshot stands for.
    var stands: [MachineID: NumberRanges] {
        vector.filter { !omitted.contains($0.key) }.mapValues(\.numbers)
    }

    /// The first line of a file, up to the fleet's number.
    private static let version = Array("defaults-fleet 2 ".utf8)

    /// One change set may be as large as the agent accepts.
    private static let limits = PropertyListLimits(bytes: 256 << 20)

    private static func head(of seal: some FleetSeal) -> [UInt8] { version + Array("\(seal.number)\n".utf8) }

    /// Returns the contents, of which nothing but the version and the fleet's number can be read without the key.
    package func sealed(with seal: some FleetSeal) throws -> [UInt8] {
        var entries: DomainValues = ["sets": .array(sets.map(\.propertyList)), "vector": vector.propertyList]
        entries["previous"] = previous?.propertyList
        for (machines, name) in [(missing, "missing"), (omitted, "omitted")] where !machines.isEmpty {
            entries[name] = .array(machines.map { .string($0.text) })
        }
        let value = PropertyListValue.dictionary(entries)
        return Self.head(of: seal) + (try seal.close(try value.write(as: .binary), for: name.context))
    }

    /// Reads the contents.
    ///
    /// - Throws: The reason why they can't be used. An incomplete file, which a tool has not brought to its end yet,
    ///   can't be told from a changed one.
    package init(_ name: FleetFileName, opening bytes: [UInt8], with seal: some FleetSeal) throws(FleetFileError) {
        let head = Self.head(of: seal)
        guard bytes.count > head.count, bytes.starts(with: Self.version.dropLast(2)) else { throw .incomplete }
        guard bytes.starts(with: Self.version) else { throw .otherVersion }
        guard bytes.starts(with: head) else { throw .otherFleet }
        let value: PropertyListValue
        do {
            let contents = try seal.open(Array(bytes.dropFirst(head.count)), for: name.context)
            value = try PropertyListValue(parsing: contents, limits: Self.limits)
        } catch { throw .incomplete }
        guard case .dictionary(let entries) = value, case .array(let sets)? = entries["sets"],
            let vector = FleetVector(entries["vector"])
        else { throw .otherVersion }
        var read: [EnvelopeSet] = []
        for set in sets {
            guard let set = EnvelopeSet(set) else { throw .otherVersion }
            read.append(set)
        }
        self.init(name, read)
        (previous, self.vector) = (ContentHash(entries["previous"]), vector)
        for (path, name) in [(\FleetFile.missing, "missing"), (\.omitted, "omitted")] {
            guard case .array(let machines)? = entries[name] else { continue }
            self[keyPath: path] = machines.compactMap {
                if case .string(let text) = $0 { MachineID(text) } else { nil }
            }
        }
    }
}

/// The encryption of files with a fleet's key; in the simulator, none.
package protocol FleetSeal {
    /// The fleet's number, from which the key can't be found: 16 hexadecimal digits.
    var number: String { get }

    /// Returns a name for a text, from which the text can't be found without the key: 32 hexadecimal digits.
    func name(for text: String) -> String

    /// Encrypts bytes, and binds them to a context that isn't stored with them.
    func close(_ bytes: [UInt8], for context: String) throws -> [UInt8]

    /// Decrypts bytes.
    ///
    /// - Throws: If they are incomplete or changed, or sealed with another key or for another context.
    func open(_ bytes: [UInt8], for context: String) throws -> [UInt8]
}

/// The reason why a file of a fleet can't be used.
package enum FleetFileError: Error, Sendable, Hashable {
    /// It isn't complete, or was changed.
    case incomplete
    /// It is of another fleet, with another key.
    case otherFleet
    /// Another version of the program has written it.
    case otherVersion
}

/// The name of a file of a machine: the numbers of its first and last set, or of a snapshot, the last that is in it.
package struct FleetFileName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var machine: MachineID
    package var first: UInt64
    package var last: UInt64
    package var isSnapshot: Bool

    package init(machine: MachineID, first: UInt64, last: UInt64, isSnapshot: Bool = false) {
        (self.machine, self.first, self.last, self.isSnapshot) = (machine, first, last, isSnapshot)
    }

    /// Creates a name from that of a file in a machine's folder; `nil` for other files.
    package init?(_ text: String, of machine: MachineID) {
        let isSnapshot = text.hasSuffix(".snap")
        guard isSnapshot || text.hasSuffix(".env") else { return nil }
        let numbers = text.prefix { $0 != "." }.split(separator: "-", omittingEmptySubsequences: false).map {
            UInt64($0)
        }
        switch (isSnapshot, numbers.count) {
        case (true, 1): self.init(machine: machine, first: 1, last: numbers[0] ?? 0, isSnapshot: true)
        case (false, 2): self.init(machine: machine, first: numbers[0] ?? 0, last: numbers[1] ?? 0)
        default: return nil
        }
        // There are no other spellings of a number.
        guard description == text, first > 0, first <= last else { return nil }
    }

    /// Creates the name of which another is a variant: a tool has renamed the file since it found two, or has put
    /// something in its place until it brings it.
    package init?(variant text: String, of machine: MachineID) {
        let text = text.drop { $0 == "." }
        let parts = text.prefix { $0.isNumber || $0 == "-" }.split(separator: "-", maxSplits: 2)
        let rest = text.dropFirst(parts.first?.count ?? 0)
        if rest.contains(".snap"), parts.count > 0 {
            self.init("\(parts[0]).snap", of: machine)
        } else if rest.contains(".env"), parts.count > 1 {
            self.init("\(parts[0])-\(parts[1]).env", of: machine)
        } else {
            return nil
        }
    }

    /// Creates a name from that of a file in a machine's folder, or from a variant; `nil` for other files.
    init?(file text: String, of machine: MachineID) {
        guard let name = FleetFileName(text, of: machine) ?? FleetFileName(variant: text, of: machine) else {
            return nil
        }
        self = name
    }

    /// The files that a machine has according to names in its folder, also those that a tool has only put something in
    /// the place of.
    package static func all(in names: [String], of machine: MachineID) -> Set<FleetFileName> {
        Set(names.compactMap { FleetFileName(file: $0, of: machine) })
    }

    /// The number of the set before those in the file.
    var previous: UInt64 { isSnapshot ? last - 1 : first - 1 }

    /// Whether the file has a set and the one after it, so that no other file of the chain ends between them.
    func isBeyond(_ number: UInt64) -> Bool { !isSnapshot && first <= number && number < last }

    package var description: String { isSnapshot ? "\(last).snap" : "\(first)-\(last).env" }

    /// The context of the contents, so that a file can't stand in for another.
    fileprivate var context: String { "\(machine)/\(self)" }

    package static func < (one: FleetFileName, other: FleetFileName) -> Bool {
        (one.machine, one.last, one.first) < (other.machine, other.last, other.first)
    }
}

// MARK: Property lists

extension EnvelopeSet {
    /// The approximate size in a file, in bytes.
    var size: Int { (try? propertyList.write(as: .binary).count) ?? 0 }

    fileprivate var propertyList: PropertyListValue {
        var entries: [String: PropertyListValue] = ["edits": .array(envelopes.map(\.propertyList))]
        entries["cursor"] = cursor.map { .string($0) }
        if isBeginning { entries["beginning"] = true }
        return .dictionary(entries)
    }

    fileprivate init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, case .array(let edits)? = entries["edits"] else { return nil }
        var envelopes: [Envelope] = []
        for edit in edits {
            guard let envelope = Envelope(edit) else { return nil }
            envelopes.append(envelope)
        }
        self.init(envelopes, cursor: nil, isBeginning: entries["beginning"] == true)
        switch entries["cursor"] {
        case nil: break
        case .string(let text)?: cursor = text
        default: return nil
        }
    }
}

extension Envelope {
    var propertyList: PropertyListValue {
        var entries: [String: PropertyListValue] = [
            "domain": .string(key.domain), "key": .string(key.key), "stamp": stamp.propertyList,
        ]
        entries["value"] = value
        if !known.stamps.isEmpty { entries["known"] = known.propertyList }
        return .dictionary(entries)
    }

    init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, case .string(let domain)? = entries["domain"],
            case .string(let key)? = entries["key"], let stamp = entries["stamp"].flatMap({ Stamp($0) }),
            // Another version may know other names.
            (try? DomainName(domain)) != nil
        else { return nil }
        guard let known = KnownEdits(entries["known"] ?? []) else { return nil }
        self.init(FleetKey(domain, key), entries["value"], stamp: stamp, known: known)
    }
}

extension KnownEdits {
    var propertyList: PropertyListValue { .array(stamps.map(\.propertyList)) }

    init?(_ value: PropertyListValue) {
        guard case .array(let stamps) = value else { return nil }
        self.init()
        for stamp in stamps {
            guard let stamp = Stamp(stamp) else { return nil }
            self = adding(stamp)
        }
    }
}

extension Stamp {
    package var propertyList: PropertyListValue {
        [time > UInt64(Int64.max) ? .unsigned(time) : .integer(Int64(time)), .string(machine.text)]
    }

    package init?(_ value: PropertyListValue) {
        guard case .array(let parts) = value, parts.count == 2, case .string(let machine) = parts[1],
            let machine = MachineID(machine)
        else { return nil }
        switch parts[0] {
        case .integer(let time) where time >= 0: self.init(time: UInt64(time), machine: machine)
        case .unsigned(let time): self.init(time: time, machine: machine)
        default: return nil
        }
    }
}
