package import PropertyList

/// Cuts a stream of bytes into messages.
package struct FrameDecoder: Sendable {
    private(set) var bytes: [UInt8] = []
    private var position = 0
    private let limits: PropertyListLimits

    /// The values that a frame may stand for, for each of its bytes.
    ///
    /// `Frame.encode` and CoreFoundation write each container as often as it occurs, so that a value takes a byte at least.
    /// Python's plistlib writes a list once that a program has put into several places.
    private static let valuesPerByte = 16

    /// - Parameter limits: what is let in; `bytes` bounds a frame.
    package init(limits: PropertyListLimits) {
        self.limits = limits
    }

    /// How many bytes wait for the rest of their message, or to be taken.
    package var waiting: Int { bytes.count - position }

    /// Adds bytes that came.
    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// Takes the next whole message; `nil` when more bytes must come first.
    ///
    /// - Throws: `protocolViolation`. The stream can't be read on after it.
    package mutating func next() throws(DefaultsError) -> Fields? {
        guard bytes.count - position >= 4 else { return nil }
        let length = Int(Frame.length(bytes, at: position))
        guard length <= limits.bytes else {
            throw DefaultsError(
                .protocolViolation, "A frame announces \(length) bytes; the limit is \(limits.bytes).")
        }
        guard bytes.count - position - 4 >= length else { return nil }
        let payload = Array(bytes[position + 4..<position + 4 + length])
        position += 4 + length
        if position > 1 << 16 {
            // The room that messages took is given back, whatever follows them.
            bytes = Array(bytes[position...])
            position = 0
        } else if position == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            position = 0
        }
        // Another format would be read as well; the protocol has one.
        guard PropertyListFormat.detect(payload) == .binary else {
            throw DefaultsError(.protocolViolation, "A frame holds no binary property list.")
        }
        let value: PropertyListValue
        do throws(PropertyListError) {
            value = try PropertyListValue(
                parsing: payload, limits: limits.proportionate(to: length, valuesPerByte: Self.valuesPerByte))
        } catch {
            throw DefaultsError(.protocolViolation, "A frame holds no binary property list: \(error)")
        }
        return try Fields(value, of: "A message")
    }
}
