/// The base64 encoding of RFC 4648, with whitespace allowed anywhere.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let space: UInt8 = 64
    private static let padding: UInt8 = 65
    private static let wrong: UInt8 = 66

    /// The meaning of each byte: a value below 64, or one of the constants above.
    private static let meanings: [UInt8] = {
        var table = [UInt8](repeating: wrong, count: 256)
        for (value, byte) in alphabet.enumerated() { table[Int(byte)] = UInt8(value) }
        for byte in " \t\n\r".utf8 { table[Int(byte)] = space }
        table[Int(UInt8(ascii: "="))] = padding
        return table
    }()

    /// Decodes the text; returns `nil` if it isn't base64 with correct padding.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let meanings = meanings
        var isCorrect = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
            var group: UInt32 = 0
            var inGroup = 0
            var padded = 0
            for byte in text {
                let meaning = meanings[Int(byte)]
                if meaning < 64 {
                    guard padded == 0 else { isCorrect = false; return }
                    group = group << 6 | UInt32(meaning)
                    inGroup += 1
                    guard inGroup == 4 else { continue }
                    output[count] = UInt8(truncatingIfNeeded: group >> 16)
                    output[count + 1] = UInt8(truncatingIfNeeded: group >> 8)
                    output[count + 2] = UInt8(truncatingIfNeeded: group)
                    count += 3
                    group = 0
                    inGroup = 0
                } else if meaning == padding {
                    padded += 1
                } else if meaning == wrong {
                    isCorrect = false
                    return
                }
            }
            switch (inGroup, padded) {
            case (0, 0): break
            case (2, 2):
                output[count] = UInt8(truncatingIfNeeded: group >> 4)
                count += 1
            case (3, 1):
                output[count] = UInt8(truncatingIfNeeded: group >> 10)
                output[count + 1] = UInt8(truncatingIfNeeded: group >> 2)
                count += 2
            default: isCorrect = false
            }
        }
        return isCorrect ? bytes : nil
    }

    /// Appends the base64 encoding of the bytes, with padding.
    package static func encode(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8]) {
        let alphabet = alphabet
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let count = min(3, bytes.endIndex - index)
            var group = UInt32(bytes[index]) << 16
            if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[index + 2]) }
            output.append(alphabet[Int(group >> 18)])
            output.append(alphabet[Int(group >> 12 & 63)])
            output.append(count > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
            output.append(count > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
            index += count
        }
    }
}
