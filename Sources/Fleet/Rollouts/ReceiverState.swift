package import DefaultsCore
package import PropertyList

/// The knowledge of a receiver that must outlive a crash.
package struct ReceiverState: Hashable, Sendable {
    package let machine: MachineID
    /// The registers with what was pushed.
    package internal(set) var mirror = RegisterMirror()
    /// The last contents that could be read of registers that can't be read now.
    package internal(set) var lastReadable: [String: [UInt8]] = [:]
    /// The keys that this machine has set in its files.
    package internal(set) var applied: [PushedKey: Applied] = [:]
    /// The hashes of the values that may be in the files because the machine was about to set them.
    package internal(set) var pending: [PushedKey: Set<ContentHash>] = [:]
    /// The keys that are no longer pushed, and have a value that somebody on the machine has set.
    package internal(set) var kept: Set<PushedKey> = []

    /// A value that was set.
    package struct Applied: Hashable, Sendable {
        package var rollout: Int64
        package var hash: ContentHash

        init(rollout: Int64, hash: ContentHash) { (self.rollout, self.hash) = (rollout, hash) }

        init(_ value: FormerValue) {
            self.init(rollout: value.rollout, hash: value.value.map { Self.hash($0) } ?? ContentHash(value: 0))
        }

        static func hash(_ value: PropertyListValue) -> ContentHash {
            ContentHash((try? PropertyListValue.array([value]).write(as: .binary)) ?? Array("\(value)".utf8))
        }
    }

    package init(_ machine: MachineID) { self.machine = machine }

    /// Forgets what the machine has received and set in its files, so that it reads and sets everything again.
    ///
    /// Keys that are no longer pushed are still removed, unless somebody has changed them.
    package mutating func restore() {
        for (key, applied) in applied { pending[key, default: []].insert(applied.hash) }
        (applied, mirror) = ([:], RegisterMirror())
    }

    package var propertyList: PropertyListValue {
        [
            "machine": .string(machine.text), "mirror": mirror.propertyList,
            "lastReadable": .dictionary(lastReadable.mapValues { .data($0) }),
            "kept": .array(kept.sorted().map { .array($0.parts) }),
            "pending": .array(
                pending.sorted { $0.key < $1.key }.map { key, hashes in
                    .array(key.parts + hashes.map { Int64(bitPattern: $0.value) }.sorted().map { .integer($0) })
                }),
            "applied": .array(
                applied.sorted { $0.key < $1.key }.map { key, applied in
                    .array(
                        key.parts + [.integer(applied.rollout), .integer(Int64(bitPattern: applied.hash.value))])
                }),
        ]
    }

    /// Reads a state; `nil` if it isn't one.
    package init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, case .string(let machine)? = entries["machine"],
            let machine = MachineID(machine), let mirror = entries["mirror"].flatMap({ RegisterMirror($0) }),
            case .array(let applied)? = entries["applied"], case .array(let pending)? = entries["pending"],
            // An earlier version doesn't write it.
            case .array(let kept) = entries["kept"] ?? []
        else { return nil }
        self.init(machine)
        self.mirror = mirror
        guard case .dictionary(let lastReadable)? = entries["lastReadable"] else { return nil }
        for (name, value) in lastReadable {
            guard case .data(let contents) = value else { return nil }
            self.lastReadable[name] = contents
        }
        for value in kept {
            guard case .array(let parts) = value, let key = PushedKey(parts[...]) else { return nil }
            self.kept.insert(key)
        }
        for value in pending {
            guard case .array(let parts) = value, let key = PushedKey(parts.prefix(3)) else { return nil }
            for part in parts.dropFirst(3) {
                guard case .integer(let hash) = part else { return nil }
                self.pending[key, default: []].insert(ContentHash(value: UInt64(bitPattern: hash)))
            }
        }
        for value in applied {
            guard case .array(let parts) = value, parts.count == 5, let key = PushedKey(parts.prefix(3)),
                case .integer(let rollout) = parts[3], case .integer(let hash) = parts[4]
            else { return nil }
            self.applied[key] = Applied(rollout: rollout, hash: ContentHash(value: UInt64(bitPattern: hash)))
        }
    }
}
