package import PropertyList

/// A copy of the registers with a prefix, which follows them.
///
/// A watch alone can't be trusted: releases of etcd have lost and repeated events, and reported progress too early. So
/// the copy counts only what has come. It is compared with all revisions now and then, and replaced if one differs.
package struct RegisterMirror: Hashable, Sendable {
    package private(set) var registers: [String: Register] = [:]
    /// The revision of which this is a copy; `nil` before the first.
    package private(set) var revision: Int64?
    package private(set) var service: UInt64 = 0

    package init() {}

    /// Replaces the copy with a whole range.
    ///
    /// - Returns: Whether anything differs, which was missed unless this is the first range.
    package mutating func replace(with range: RegisterRange) -> Bool {
        let former = (registers, service)
        registers = Dictionary(range.registers.map { ($0.name, $0) }) { _, last in last }
        (revision, service) = (range.revision, range.service)
        return former.0 != registers || former.1 != service
    }

    /// Applies an event.
    ///
    /// - Returns: Whether anything has changed; `nil` if a range is needed.
    package mutating func apply(_ event: RegisterEvent) -> Bool? {
        guard case .changes(let changed, let removed, let new) = event, let revision else { return nil }
        var hasChanged = false
        // A watch may repeat events after a reconnection, and a faulty one goes back.
        for register in changed where registers[register.name].map({ $0.revision < register.revision }) ?? true {
            registers[register.name] = register
            hasChanged = true
        }
        for name in removed where registers[name].map({ $0.revision < new }) ?? false {
            registers[name] = nil
            hasChanged = true
        }
        self.revision = max(revision, new)
        return hasChanged
    }

    /// Sets a register that was read or written individually; `nil` removes it from the copy.
    ///
    /// The revision of the copy stays: what comes before it may not have come.
    package mutating func set(_ register: Register?, at name: String) { registers[name] = register }

    /// Compares the copy with what the service has.
    ///
    /// A number of registers and a highest revision wouldn't show an event that was lost before others.
    ///
    /// - Parameters:
    ///   - current: What the service has.
    ///   - suspicion: The differences that the last comparison has found; replaced by those of this one.
    /// - Returns: The outcome.
    package func compare(with current: RegisterRevisions, suspecting suspicion: inout [String: Int64]) -> Comparison {
        let differences = differences(from: current.registers)
        let isLost = !isCopy(of: current) || differences.contains { suspicion[$0.key] == $0.value }
        suspicion = isLost ? [:] : differences
        return isLost ? .lost : differences.isEmpty ? .same : .mayBeOnItsWay
    }

    /// The outcome of a comparison.
    package enum Comparison {
        case same
        /// The service has something else, which may be on its way: compare again in some seconds.
        case mayBeOnItsWay
        /// Changes were lost on their way, or by the service: read everything.
        case lost
    }

    /// Returns whether a service is the one of which this is a copy, and hasn't gone back, as after a restoration.
    package func isCopy(of current: RegisterRevisions) -> Bool {
        service == current.service && revision.map { $0 <= current.revision } ?? false
    }

    /// Returns the registers that a service has in another revision, or doesn't have, each with its revision there.
    private func differences(from revisions: [String: Int64]) -> [String: Int64] {
        var differences = revisions.filter { registers[$0.key]?.revision != $0.value }
        for name in registers.keys where revisions[name] == nil { differences[name] = 0 }
        return differences
    }
}

// MARK: Property lists

extension RegisterMirror {
    package var propertyList: PropertyListValue {
        [
            "revision": .integer(revision ?? -1), "service": .integer(Int64(bitPattern: service)),
            "registers": .dictionary(
                registers.mapValues { [.integer($0.revision), .data($0.contents)] }),
        ]
    }

    /// Reads a copy; `nil` if it isn't one.
    package init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, case .integer(let revision)? = entries["revision"],
            case .integer(let service)? = entries["service"], case .dictionary(let registers)? = entries["registers"]
        else { return nil }
        self.init()
        if revision >= 0 { self.revision = revision }
        self.service = UInt64(bitPattern: service)
        for (name, value) in registers {
            guard case .array(let parts) = value, parts.count == 2, case .integer(let revision) = parts[0],
                case .data(let contents) = parts[1]
            else { return nil }
            self.registers[name] = Register(name, contents, revision: revision)
        }
    }
}
