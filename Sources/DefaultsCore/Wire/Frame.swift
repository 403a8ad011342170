package import PropertyList

/// A message as it goes through the socket: its length in four bytes, big-endian, then a binary property list.
package enum Frame {
    /// The largest request that is taken.
    package static let standardLimit = 64 << 20

    /// What a request may be, to an agent that trusts no client.
    ///
    /// A value lies two levels deep in a request, and one in a file: so no request makes a file that can't be read again.
    package static let requestLimits = PropertyListLimits(
        depth: DomainFile.standardLimits.depth + 1, bytes: standardLimit)

    /// What a message of the agent's may be, or an entry of its log: whatever a file of the largest size can give rise to,
    /// old values and new.
    ///
    /// A value lies three levels deep in a message; a file leaves room for that below the codec's own limit.
    package static let messageLimits = PropertyListLimits(bytes: Int(UInt32.max), objects: 100_000_000)

    /// Frames a message.
    package static func encode(_ message: DomainValues) throws(DefaultsError) -> [UInt8] {
        let payload: [UInt8]
        do throws(PropertyListError) {
            payload = try PropertyListValue.dictionary(message).write(as: .binary)
        } catch {
            throw DefaultsError(.invalidValue, "The message can't be written: \(error)")
        }
        guard let length = UInt32(exactly: payload.count) else {
            throw DefaultsError(.protocolViolation, "A message of \(payload.count) bytes is too large to be sent.")
        }
        return bigEndian(length) + payload
    }

    /// Eight bytes, the most significant first.
    static func bigEndian(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }

    /// Four bytes, the most significant first.
    static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }

    /// The number in eight bytes, which must be there.
    static func number(_ bytes: [UInt8], at position: Int) -> UInt64 {
        bytes[position..<position + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The number in four bytes, which must be there.
    static func length(_ bytes: [UInt8], at position: Int) -> UInt32 {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
