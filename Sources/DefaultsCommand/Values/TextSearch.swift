import PropertyList

/// A case-insensitive search for a word in text.
struct TextSearch {
    private let word: String
    /// The lowercased bytes of the word if it is ASCII, which is the usual case; `nil` otherwise.
    ///
    /// Searching for bytes needs no lowercased copies of the text.
    private let bytes: [UInt8]?

    init(_ word: String) {
        self.word = word.lowercased()
        bytes = word.utf8.allSatisfy { $0 < 0x80 } ? Array(self.word.utf8) : nil
    }

    /// Returns whether text contains the word.
    func matches(_ text: String) -> Bool {
        guard let bytes else { return text.lowercased().contains(word) }
        guard let first = bytes.first else { return true }
        var text = text
        return text.withUTF8 { text in
            guard text.count >= bytes.count else { return false }
            for start in 0...(text.count - bytes.count) where Self.lowered(text[start]) == first {
                if (1..<bytes.count).allSatisfy({ Self.lowered(text[start + $0]) == bytes[$0] }) { return true }
            }
            return false
        }
    }

    /// Returns whether a value contains the word, in a string or key at any depth.
    func matches(_ value: PropertyListValue) -> Bool {
        switch value {
        case .string(let text): matches(text)
        case .array(let elements): elements.contains { matches($0) }
        case .dictionary(let entries): entries.contains { matches($0) || matches($1) }
        case .integer, .unsigned, .real, .real32, .boolean, .date, .data, .uid: false
        }
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
