import PropertyList

/// The contents of a key's register: its newest edit.
package struct EditRegister: Hashable, Sendable {
    package var envelope: Envelope
    /// The position of the edit's record in its machine's log; `nil` if it comes from no single one.
    package var cursor: String?

    package init(_ envelope: Envelope, cursor: String?) { (self.envelope, self.cursor) = (envelope, cursor) }

    /// The name of a key's register, from which the key can't be found.
    package static func name(of key: FleetKey, with seal: some FleetSeal) -> String {
        "\(RegisterName.edits(seal))\(seal.name(for: "\(key.domain)\0\(key.key)"))"
    }

    /// Returns the encrypted contents, bound to the register's name.
    package func sealed(with seal: some FleetSeal) throws -> [UInt8] {
        var entries: [String: PropertyListValue] = ["edit": envelope.propertyList]
        entries["cursor"] = cursor.map { .string($0) }
        return try seal.close(
            try PropertyListValue.dictionary(entries).write(as: .binary), for: Self.name(of: envelope.key, with: seal))
    }

    /// Reads the contents; `nil` if the register isn't one of this fleet's, or is of a later version.
    package init?(_ register: Register, opening seal: some FleetSeal) {
        guard let bytes = try? seal.open(register.contents, for: register.name),
            case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            let envelope = entries["edit"].flatMap({ Envelope($0) })
        else { return nil }
        self.init(envelope, cursor: nil)
        if case .string(let text)? = entries["cursor"] { cursor = text }
    }
}
