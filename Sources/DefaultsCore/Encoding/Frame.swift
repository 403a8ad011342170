package import PropertyList

/// A message on the socket: its length in four bytes, big-endian, followed by a binary property list.
package enum Frame {
    /// The maximum size of a request, in bytes.
    package static let standardLimit = 64 << 20

    /// The limits of a request, which protect the agent from untrusted clients.
    ///
    /// A value is nested two levels deep in a request, and one level deep in a file. So no request results in a file
    /// that can't be read back.
    package static let requestLimits = PropertyListLimits(
        depth: PropertyListLimits.domainFile.depth + 1, bytes: standardLimit)

    /// The limits of a message from the agent or a log entry.
    ///
    /// Either must be able to hold all old and new values of a file of the maximum size.
    ///
    /// A value is nested three levels deep in a message. The depth limit of files leaves room for these levels within
    /// the codec's own limit.
    package static let messageLimits = PropertyListLimits(bytes: Int(UInt32.max), objects: 100_000_000)

    /// Encodes a message as a frame.
    package static func encode(_ message: DomainValues) throws(DefaultsError) -> [UInt8] {
        let payload: [UInt8]
        do throws(PropertyListError) {
            payload = try PropertyListValue.dictionary(message).write(as: .binary)
        } catch {
            throw DefaultsError(.invalidValue, "The message can't be encoded: \(error)")
        }
        guard let length = UInt32(exactly: payload.count) else {
            throw DefaultsError(.protocolViolation, "A message of \(payload.count) bytes is too large to send.")
        }
        return bigEndian(length) + payload
    }

    /// Returns a number as eight bytes, most significant first.
    static func bigEndian(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }

    /// Returns a number as four bytes, most significant first.
    static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }

    /// Returns the number in the eight bytes at a position, all of which must exist.
    static func number(_ bytes: [UInt8], at position: Int) -> UInt64 {
        bytes[position..<position + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns the number in the four bytes at a position, all of which must exist.
    static func length(_ bytes: [UInt8], at position: Int) -> UInt32 {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// A decoder that splits a stream of bytes into messages.
package struct FrameDecoder: Sendable {
    private(set) var bytes: [UInt8] = []
    private var position = 0
    private let limits: PropertyListLimits

    /// The maximum number of values per byte of a frame, counting a shared value once per occurrence.
    ///
    /// `Frame.encode` and CoreFoundation write a container once per occurrence, so that each value takes at least one
    /// byte. Python's plistlib writes a shared list only once.
    private static let valuesPerByte = 16

    /// Creates a decoder.
    ///
    /// - Parameter limits: The limits of a message; `bytes` limits the size of a frame.
    package init(limits: PropertyListLimits) {
        self.limits = limits
    }

    /// The number of bytes received but not yet decoded.
    package var bufferedBytes: Int { bytes.count - position }

    /// Appends received bytes.
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// Decodes the next complete message; returns `nil` if more bytes are needed.
    ///
    /// - Throws: `protocolViolation`. The rest of the stream can then not be decoded.
    package mutating func next() throws(DefaultsError) -> Fields? {
        guard bytes.count - position >= 4 else { return nil }
        let length = Int(Frame.length(bytes, at: position))
        guard length <= limits.bytes else {
            if bytes[position] == UInt8(ascii: "{") {
                throw DefaultsError(
                    .protocolViolation, "The socket takes frames of binary property lists, not JSON.",
                    remedy: "To send lines of JSON, run `defaults bridge`.")
            }
            throw DefaultsError(
                .protocolViolation, "A frame announces \(length) bytes; the limit is \(limits.bytes).")
        }
        guard bytes.count - position - 4 >= length else { return nil }
        let payload = Array(bytes[position + 4..<position + 4 + length])
        position += 4 + length
        if position > 1 << 16 {
            // Release the memory of decoded messages, even if undecoded bytes remain.
            bytes = Array(bytes[position...])
            position = 0
        } else if position == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            position = 0
        }
        // The parser accepts other formats as well, but the protocol has only this one.
        guard PropertyListFormat.detect(payload) == .binary else {
            throw DefaultsError(.protocolViolation, "A frame doesn't contain a binary property list.")
        }
        let document: PropertyListDocument
        do throws(PropertyListError) {
            document = try PropertyListDocument(
                reading: payload, limits: limits.proportionate(to: length, valuesPerByte: Self.valuesPerByte))
        } catch {
            throw DefaultsError(.protocolViolation, "A frame doesn't contain a binary property list: \(error)")
        }
        var fields = try Fields(document.value, of: "A message")
        fields.hasEquivalentKeys = document.hasEquivalentKeys
        return fields
    }
}
