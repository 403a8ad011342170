package import PropertyList

/// The record of an operator's push: which keys it has changed, for whom, and what they were before.
package struct Rollout: Hashable, Sendable {
    /// The number, which is larger than that of every earlier one.
    package var number: Int64
    /// The time of the push, in milliseconds since 1970.
    package var milliseconds: UInt64
    /// The name of the operator.
    package var author: String
    package var share: Share
    /// Whether the former values have been set again.
    package var isUndone = false
    /// The work of which only some parts are written: it is under way, or was interrupted.
    package var unfinished: Work?
    package var changes: [Change]
    /// The numbers of the push and of the latest changes, by which an operator knows the own one if it isn't known
    /// whether it was written.
    var marks: [UInt64]

    /// The work of an operator that may be written in parts.
    package enum Work: String, Sendable { case push, share, undo }

    /// A change of a key for a group.
    package struct Change: Hashable, Sendable {
        package var group: String
        package var key: PushedKey
        package var value: PropertyListValue?
        package var former: FormerValue
    }

    /// The number of rollouts whose records are kept.
    package static let maximum: Int64 = 1_000

    /// Whether nothing is left to do with it but to undo it.
    package var isEnded: Bool { unfinished == nil && (isUndone || share == .all) }

    /// The groups that have got it, in order.
    package var groups: [String] { Set(changes.map(\.group)).sorted() }
}

/// The report of a receiver about itself.
package struct ReceiverReport: Hashable, Sendable {
    package var machine: MachineID
    package var name: String
    package var groups: [String]
    /// The revision up to which the machine's files have everything.
    package var revision: Int64
    /// The time of the report, in milliseconds since 1970.
    package var milliseconds: UInt64
    package var version: String
    /// The keys that couldn't be set, with the reasons.
    package var problems: [Problem]
    /// The number of registers that the machine can't read.
    package var unreadable: Int
    /// The keys that somebody on the machine has changed since.
    package var changed: [PushedKey]
    /// The number of further keys with problems or changes, for which the report has no room.
    package var omitted: Int
    /// The number of keys in the machine's files that each rollout has set.
    package var counts: [Int64: Int]

    /// A key that couldn't be set.
    package struct Problem: Hashable, Sendable {
        package var key: PushedKey
        package var reason: String

        package init(key: PushedKey, reason: String) { (self.key, self.reason) = (key, reason) }
    }
}

// MARK: Registers

extension Rollout {
    package func sealed(with seal: some FleetSeal) throws -> [UInt8] {
        var entries: [String: PropertyListValue] = [
            "number": .integer(number), "time": .integer(Int64(clamping: milliseconds)), "author": .string(author),
            "undone": .boolean(isUndone), "marks": .array(marks.map { .integer(Int64(bitPattern: $0)) }),
            "changes": .array(
                changes.map { change in
                    var entries: [String: PropertyListValue] = [
                        "group": .string(change.group), "layer": .string(change.key.layer.rawValue),
                        "domain": .string(change.key.domain), "key": .string(change.key.key),
                        "former": change.former.propertyList,
                    ]
                    entries["value"] = change.value
                    return .dictionary(entries)
                }),
        ]
        entries["limit"] = share.limit.map { .integer(Int64(bitPattern: $0)) }
        entries["unfinished"] = unfinished.map { .string($0.rawValue) }
        return try seal.close(
            try PropertyListValue.dictionary(entries).write(as: .binary), for: RegisterName.rollout(number, seal))
    }

    /// Reads a rollout; `nil` if the register isn't one of this fleet's, or is of a later version.
    package init?(_ register: Register, opening seal: some FleetSeal) {
        guard let bytes = try? seal.open(register.contents, for: register.name),
            case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            case .integer(let number)? = entries["number"], case .integer(let time)? = entries["time"],
            case .string(let author)? = entries["author"], case .boolean(let isUndone)? = entries["undone"],
            case .array(let marks)? = entries["marks"], case .array(let changes)? = entries["changes"]
        else { return nil }
        var read: [Change] = []
        for change in changes {
            guard case .dictionary(let entries) = change, case .string(let group)? = entries["group"],
                case .string(let layer)? = entries["layer"], let layer = PushedLayer(rawValue: layer),
                case .string(let domain)? = entries["domain"], case .string(let key)? = entries["key"],
                let former = FormerValue(entries["former"])
            else { return nil }
            read.append(
                Change(
                    group: group, key: PushedKey(key, of: domain, in: layer), value: entries["value"], former: former))
        }
        var share = Share.all
        if case .integer(let limit)? = entries["limit"] { share.limit = UInt64(bitPattern: limit) }
        self.init(
            number: number, milliseconds: UInt64(max(0, time)), author: author, share: share, isUndone: isUndone,
            changes: read,
            marks: marks.compactMap { if case .integer(let mark) = $0 { UInt64(bitPattern: mark) } else { nil } })
        guard let work = entries["unfinished"] else { return }
        guard case .string(let name) = work, let work = Work(rawValue: name) else { return nil }
        unfinished = work
    }
}

extension ReceiverReport {
    package func sealed(with seal: some FleetSeal) throws -> [UInt8] {
        func texts(_ texts: [String]) -> PropertyListValue { .array(texts.map { .string($0) }) }
        var entries: [String: PropertyListValue] = [
            "name": .string(name), "groups": texts(groups), "revision": .integer(revision),
            "time": .integer(Int64(clamping: milliseconds)), "version": .string(version),
            "problems": .array(problems.map { .array($0.key.parts + [.string($0.reason)]) }),
            "unreadable": .integer(Int64(unreadable)), "changed": .array(changed.map { .array($0.parts) }),
            "counts": .dictionary(
                Dictionary(uniqueKeysWithValues: counts.map { ("\($0)", .integer(Int64($1))) })),
        ]
        if omitted > 0 { entries["omitted"] = .integer(Int64(omitted)) }
        return try seal.close(
            try PropertyListValue.dictionary(entries).write(as: .binary), for: RegisterName.receiver(machine, seal))
    }

    /// Reads a report; `nil` if the register isn't one of this fleet's, or is of a later version.
    package init?(_ register: Register, opening seal: some FleetSeal) {
        func texts(_ value: PropertyListValue?) -> [String]? {
            guard case .array(let elements)? = value else { return nil }
            return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
        }
        guard let machine = MachineID(String(register.name.dropFirst(RegisterName.receivers(seal).count))),
            let bytes = try? seal.open(register.contents, for: register.name),
            case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            case .string(let name)? = entries["name"], let groups = texts(entries["groups"]),
            case .integer(let revision)? = entries["revision"], case .integer(let time)? = entries["time"],
            case .string(let version)? = entries["version"], case .array(let problems)? = entries["problems"],
            case .integer(let unreadable)? = entries["unreadable"], case .array(let changed)? = entries["changed"],
            case .integer(let omitted) = entries["omitted"] ?? 0, case .dictionary(let numbers)? = entries["counts"]
        else { return nil }
        var counts: [Int64: Int] = [:]
        for (number, count) in numbers {
            guard let number = Int64(number), case .integer(let count) = count else { return nil }
            counts[number] = Int(clamping: count)
        }
        self.init(
            machine: machine, name: name, groups: groups, revision: revision, milliseconds: UInt64(max(0, time)),
            version: version,
            problems: problems.compactMap { problem in
                guard case .array(let parts) = problem, parts.count == 4, case .string(let reason) = parts[3],
                    let key = PushedKey(parts.dropLast())
                else { return nil }
                return Problem(key: key, reason: reason)
            }, unreadable: Int(clamping: unreadable),
            changed: changed.compactMap { key in
                guard case .array(let parts) = key else { return nil }
                return PushedKey(parts[...])
            }, omitted: Int(clamping: omitted), counts: counts)
    }
}
