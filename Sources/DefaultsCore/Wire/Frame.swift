package import PropertyList

/// A message as it goes through the socket: its length in four bytes, big-endian, then a binary property list.
package enum Frame {
    /// The largest message that is taken, unless a limit says otherwise.
    package static let standardLimit = 64 << 20

    /// What a message may be.
    ///
    /// A value lies a few levels deep in a message. A file may be deep enough to leave room for that below the codec's
    /// own limit, and a request one level deeper than a file: so no request makes a file that can't be read again, and
    /// no file makes a message that can't be sent.
    package static func limits(bytes: Int = standardLimit, ofRequests: Bool = false) -> PropertyListLimits {
        var limits = PropertyListLimits()
        limits.bytes = bytes
        if ofRequests { limits.depth = DomainFile.standardLimits.depth + 1 }
        return limits
    }

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
