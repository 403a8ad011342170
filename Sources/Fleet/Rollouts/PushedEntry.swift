import DefaultsCore
package import PropertyList

/// A layer of all users of a machine, into which a service's preferences go.
package enum PushedLayer: String, CaseIterable, Sendable, Hashable {
    /// Values that are forced.
    case managed
    /// Values that users may replace.
    case system
}

/// A key of a domain in a layer.
package struct PushedKey: Hashable, Sendable, Comparable {
    package var layer: PushedLayer
    package var domain: String
    package var key: String

    package init(_ key: String, of domain: String, in layer: PushedLayer) {
        (self.layer, self.domain, self.key) = (layer, domain, key)
    }

    /// The key as parts of a property list.
    var parts: [PropertyListValue] { [.string(layer.rawValue), .string(domain), .string(key)] }

    /// Reads a key; `nil` if the parts aren't one.
    init?(_ parts: ArraySlice<PropertyListValue>) {
        let texts = parts.compactMap { if case .string(let text) = $0 { text } else { nil } }
        guard texts.count == 3, parts.count == 3, let layer = PushedLayer(rawValue: texts[0]) else { return nil }
        self.init(texts[2], of: texts[1], in: layer)
    }

    package static func < (one: PushedKey, other: PushedKey) -> Bool {
        (one.layer.rawValue, one.domain, one.key) < (other.layer.rawValue, other.domain, other.key)
    }
}

/// The part of a group's machines that has a new value: the `limit` with the smallest places, each of which is a
/// machine's by chance.
package struct Share: Hashable, Sendable {
    /// The largest place that is included; `nil` for all machines.
    package var limit: UInt64?

    package static let all = Share(limit: nil)

    package init(limit: UInt64?) { self.limit = limit }

    /// Creates the share of a number of machines.
    package init(of count: Int, among machines: [MachineID], in rollout: Int64) {
        let places = machines.map { Self.place(of: $0, in: rollout) }.sorted()
        // Machines that come later get it with the same probability.
        limit = count <= 0 ? 0 : places.isEmpty ? 0 : places[min(count, places.count) - 1]
    }

    package func includes(_ machine: MachineID, in rollout: Int64) -> Bool {
        limit.map { Self.place(of: machine, in: rollout) <= $0 } ?? true
    }

    /// The place of a machine: another one in each rollout, so that not always the same machines come first.
    private static func place(of machine: MachineID, in rollout: Int64) -> UInt64 {
        ContentHash(Array("\(rollout) \(machine)".utf8)).value
    }
}

/// A value, and the rollout that has pushed it; neither if there was none.
package struct FormerValue: Hashable, Sendable {
    package var value: PropertyListValue?
    package var rollout: Int64

    package init(value: PropertyListValue?, rollout: Int64) { (self.value, self.rollout) = (value, rollout) }

    package static let none = FormerValue(value: nil, rollout: 0)

    package var propertyList: PropertyListValue {
        .array([.integer(rollout)] + (value.map { [$0] } ?? []))
    }

    package init?(_ value: PropertyListValue?) {
        guard case .array(let parts)? = value, (1...2).contains(parts.count), case .integer(let rollout) = parts[0]
        else { return nil }
        self.init(value: parts.count == 2 ? parts[1] : nil, rollout: rollout)
    }
}

/// The value that an operator has pushed for a key to a group of machines; a register holds it.
package struct PushedEntry: Hashable, Sendable {
    /// The group of all receivers.
    package static let everyone = "all"

    package var group: String
    package var key: PushedKey
    /// The value; `nil` if the group has none.
    package var value: PropertyListValue?
    /// The rollout that has pushed it.
    package var rollout: Int64
    package var share: Share
    /// The value for the machines that aren't in the share.
    package var former: FormerValue

    package init(
        _ key: PushedKey, of group: String, _ value: PropertyListValue?, rollout: Int64, share: Share,
        former: FormerValue
    ) {
        (self.group, self.key, self.value) = (group, key, value)
        (self.rollout, self.share, self.former) = (rollout, share, former)
    }

    /// Returns whether a machine in some groups may get it.
    package func isFor(_ groups: Set<String>) -> Bool { group == Self.everyone || groups.contains(group) }

    /// Whether no machine of the group gets a value.
    var isRemoval: Bool { value == nil && share == .all }

    /// Returns the value that a machine of the group gets, and the rollout that has pushed that.
    package func value(on machine: MachineID) -> FormerValue {
        share.includes(machine, in: rollout) ? FormerValue(value: value, rollout: rollout) : former
    }
}

extension Sequence where Element == PushedEntry {
    /// Returns the values that a machine in some groups gets.
    ///
    /// Where several groups have a value, that of the latest rollout counts.
    package func values(for machine: MachineID, in groups: Set<String>) -> [PushedKey: FormerValue] {
        var values: [PushedKey: FormerValue] = [:]
        for entry in self where entry.isFor(groups) {
            let value = entry.value(on: machine)
            guard value.value != nil, values[entry.key].map({ $0.rollout < value.rollout }) ?? true else { continue }
            values[entry.key] = value
        }
        return values
    }
}

/// The names of a fleet's registers.
package enum RegisterName {
    /// The beginning of the names of a fleet's registers.
    package static func prefix(of seal: some FleetSeal) -> String { "/defaultsd/\(seal.number)/" }

    /// The beginning of the names of entries and rollouts.
    package static func pushed(_ seal: some FleetSeal) -> String { "\(prefix(of: seal))pushed/" }

    /// The name of an entry, from which the key can't be found.
    package static func entry(_ key: PushedKey, of group: String, with seal: some FleetSeal) -> String {
        let text = [group, key.layer.rawValue, key.domain, key.key].joined(separator: "\0")
        return "\(pushed(seal))\(seal.name(for: text))"
    }

    package static func rollouts(_ seal: some FleetSeal) -> String { "\(prefix(of: seal))rollouts/" }

    package static func rollout(_ number: Int64, _ seal: some FleetSeal) -> String {
        "\(rollouts(seal))\(number)"
    }

    /// The name of the register with the number of the last rollout.
    package static func last(_ seal: some FleetSeal) -> String { "\(prefix(of: seal))last" }

    package static func receivers(_ seal: some FleetSeal) -> String { "\(prefix(of: seal))receivers/" }

    package static func receiver(_ machine: MachineID, _ seal: some FleetSeal) -> String {
        "\(receivers(seal))\(machine)"
    }
}

// MARK: Registers

extension PushedEntry {
    /// Returns the encrypted contents of the entry's register, bound to its name.
    package func sealed(with seal: some FleetSeal) throws -> [UInt8] {
        var entries: [String: PropertyListValue] = [
            "group": .string(group), "layer": .string(key.layer.rawValue), "domain": .string(key.domain),
            "key": .string(key.key), "rollout": .integer(rollout),
        ]
        entries["value"] = value
        entries["former"] = former.propertyList
        entries["limit"] = share.limit.map { .integer(Int64(bitPattern: $0)) }
        return try seal.close(
            try PropertyListValue.dictionary(entries).write(as: .binary),
            for: RegisterName.entry(key, of: group, with: seal))
    }

    /// Reads an entry; `nil` if the register isn't one of this fleet's, or is of a later version.
    package init?(_ register: Register, opening seal: some FleetSeal) {
        guard let bytes = try? seal.open(register.contents, for: register.name),
            case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            case .string(let group)? = entries["group"], case .string(let layer)? = entries["layer"],
            let layer = PushedLayer(rawValue: layer), case .string(let domain)? = entries["domain"],
            case .string(let key)? = entries["key"], case .integer(let rollout)? = entries["rollout"],
            let former = FormerValue(entries["former"])
        else { return nil }
        var share = Share.all
        if case .integer(let limit)? = entries["limit"] { share.limit = UInt64(bitPattern: limit) }
        self.init(
            PushedKey(key, of: domain, in: layer), of: group, entries["value"], rollout: rollout, share: share,
            former: former)
    }
}
