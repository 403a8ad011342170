import Glibc

/// A pattern for names: `*` matches any number of characters, `?` any one character, and `\` escapes the next
/// character.
///
/// Domain names are compared byte by byte, in UTF-8, as their files are. Keys are compared by canonical equivalence, as
/// in a dictionary, in which "é" as one scalar and "é" as two are the same key.
package struct GlobPattern: Hashable, Sendable {
    package let text: String
    /// The bytes before the first wildcard; all bytes if there is none.
    private let prefix: [UInt8]
    /// The parts from the first wildcard to the last.
    private let middle: [Part]
    /// The bytes after the last wildcard.
    private let suffix: [UInt8]
    /// The tables for matching the middle; `nil` if it is a single run or empty.
    private let tables: Tables?

    private enum Part: Hashable {
        case run
        case one
        case exactly(UInt8)

        /// The byte that the part matches; `nil` for a wildcard.
        var byte: UInt8? { if case .exactly(let byte) = self { byte } else { nil } }
    }

    package init(_ text: String) {
        var parts: [Part] = []
        var isEscaped = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "*") where !isEscaped: if parts.last != .run { parts.append(.run) }
            case UInt8(ascii: "?") where !isEscaped: parts.append(.one)
            case UInt8(ascii: "\\") where !isEscaped:
                isEscaped = true
                continue
            default: parts.append(.exactly(byte))
            }
            isEscaped = false
        }
        // A backslash at the end stands for itself.
        if isEscaped { parts.append(.exactly(UInt8(ascii: "\\"))) }
        self.init(text, parts: parts)
    }

    private init(_ text: String, parts: [Part]) {
        self.text = text
        let first = parts.firstIndex { $0.byte == nil } ?? parts.count
        let last = parts.lastIndex { $0.byte == nil } ?? parts.count - 1
        prefix = parts[..<first].compactMap(\.byte)
        middle = first < parts.count ? Array(parts[first...last]) : []
        suffix = parts[(last + 1)...].compactMap(\.byte)
        tables = middle.isEmpty || middle == [.run] ? nil : Tables(middle)
    }

    /// Compares the patterns byte by byte, as `matches` does.
    package static func == (first: GlobPattern, second: GlobPattern) -> Bool {
        first.prefix == second.prefix && first.middle == second.middle && first.suffix == second.suffix
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(prefix)
        hasher.combine(middle)
        hasher.combine(suffix)
    }

    /// Returns a pattern that matches exactly one name, which may contain any characters.
    package static func exactly(_ name: String) -> GlobPattern {
        GlobPattern(
            name.unicodeScalars.reduce(into: "") { text, scalar in
                if "*?\\".unicodeScalars.contains(scalar) { text.unicodeScalars.append("\\") }
                text.unicodeScalars.append(scalar)
            })
    }

    /// The only name that matches; `nil` if the pattern has wildcards.
    var onlyName: String? { hasWildcards ? nil : String(decoding: prefix, as: UTF8.self) }

    /// The only domain name that matches; `nil` if the pattern has wildcards, or no domain can have the name.
    var domainName: DomainName? { onlyName.flatMap { try? DomainName($0) } }

    /// Whether the pattern has wildcards, so that more than one name can match.
    package var hasWildcards: Bool { !middle.isEmpty }

    /// The number of bytes that aren't wildcards: the more, the fewer names match.
    var literalCount: Int { prefix.count + suffix.count + middle.count { $0.byte != nil } }

    /// Returns whether the pattern matches the whole name.
    ///
    /// Without wildcards, bytes are compared. With wildcards, the time is proportional to the name's length times the
    /// number of 64-byte units in the pattern, regardless of their contents.
    package func matches(_ name: String) -> Bool {
        name.utf8Span.span.withUnsafeBufferPointer { name in
            let end = name.count - suffix.count
            guard middle.isEmpty ? prefix.count == end : prefix.count <= end else { return false }
            if let start = name.baseAddress {
                guard memcmp(start, prefix, prefix.count) == 0, memcmp(start + end, suffix, suffix.count) == 0 else {
                    return false
                }
            }
            // Without tables, the middle is empty or a single run, as in most patterns.
            return tables?.match(UnsafeBufferPointer(rebasing: name[prefix.count..<end])) ?? true
        }
    }

    /// Returns whether the pattern matches a whole key: `?` is a character as a user sees it, such as a letter with its
    /// accents.
    ///
    /// Each character is replaced by a scalar that stands for it and its equivalents. Almost all keys and patterns are
    /// in ASCII, and are compared as they are.
    package func matches(key: String) -> Bool {
        if text.isASCII, key.isASCII { return matches(key) }
        let size = prefix.count + middle.count + suffix.count
        // No character takes more than nine times as many bytes as an equivalent one, so this doesn't match. Thus a
        // long pattern costs no more than a key of that size.
        if size > 20 * key.utf8.count + 2 { return false }
        var scalars: [Character: Unicode.Scalar] = [:]
        var parts: [Part] = []
        var literal: [UInt8] = []
        for part in prefix.map({ .exactly($0) }) + middle + suffix.map({ .exactly($0) }) + [nil] {
            if let byte = part?.byte {
                literal.append(byte)
                continue
            }
            for character in String(decoding: literal, as: UTF8.self).separated {
                let next = Unicode.Scalar(0x1_0000 + UInt32(scalars.count)) ?? Self.other
                let scalar = scalars[character] ?? next
                scalars[character] = scalar
                parts += UTF8.encode(scalar).map { Array($0) }?.map { .exactly($0) } ?? []
            }
            literal = []
            if let part { parts.append(part) }
        }
        var name = ""
        for character in key.separated { name.unicodeScalars.append(scalars[character] ?? Self.other) }
        return GlobPattern(text, parts: parts).matches(name)
    }

    /// Stands for all characters that aren't in a pattern.
    private static let other: Unicode.Scalar = "\u{FFFD}"

    /// The bit masks of a pattern's parts: bit n of a mask is the n-th part that isn't a run.
    private struct Tables: Sendable {
        /// The number of parts that aren't runs.
        private let count: Int
        /// The number of words in a mask, which has one bit for each of these parts and one for the end.
        private let words: Int
        /// The masks, one after another.
        ///
        /// First come 16 masks for the values of a byte's upper half, then 16 for those of its lower half. A part
        /// matches a byte if it is in both of the byte's masks. They are followed by a mask of the parts that are `?`,
        /// and a mask of the positions at which a run accepts any byte.
        private let masks: [UInt64]

        init(_ parts: [Part]) {
            count = parts.count { $0 != .run }
            words = count / 64 + 1
            var masks = [UInt64](repeating: 0, count: 34 * words)
            var number = 0
            for part in parts {
                let (word, bit) = (number / 64, UInt64(1) << UInt64(number % 64))
                switch part {
                case .run:
                    masks[33 * words + word] |= bit
                    continue
                case .one: masks[32 * words + word] |= bit
                case .exactly(let byte):
                    masks[Int(byte >> 4) * words + word] |= bit
                    masks[(16 + Int(byte & 0xF)) * words + word] |= bit
                }
                number += 1
            }
            self.masks = masks
        }

        /// Returns whether the parts match all of the bytes.
        ///
        /// All possible matches are tracked simultaneously: bit n of the state is set while the first n parts, not
        /// counting runs, match the bytes read so far.
        func match(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: words) { state in
                state.initialize(repeating: 0)
                return masks.withUnsafeBufferPointer { match(bytes, masks: $0, state: state) }
            }
        }

        private func match(
            _ bytes: UnsafeBufferPointer<UInt8>, masks: UnsafeBufferPointer<UInt64>,
            state: UnsafeMutableBufferPointer<UInt64>
        ) -> Bool {
            let (ones, runs) = (32 * words, 33 * words)
            let (lastWord, lastBit) = (count / 64, UInt64(1) << UInt64(count % 64))
            state[0] = 1
            for byte in bytes {
                // `?` advances with the first byte of a character, and stays for the others.
                let isContinuation = byte & 0xC0 == 0x80
                let (upper, lower) = (Int(byte >> 4) * words, (16 + Int(byte & 0xF)) * words)
                var (carry, onesCarry, any) = (UInt64(0), UInt64(0), UInt64(0))
                for word in 0..<words {
                    let old = state[word]
                    let one = masks[ones + word]
                    let exact = masks[upper + word] & masks[lower + word]
                    let advancing = old & (isContinuation ? exact : exact | one)
                    let staying = old & (masks[runs + word] | (isContinuation ? one << 1 | onesCarry : 0))
                    let new = advancing << 1 | carry | staying
                    state[word] = new
                    carry = advancing >> 63
                    onesCarry = one >> 63
                    any |= new
                }
                if any == 0 { return false }
                // A run at the end matches all the rest.
                if state[lastWord] & masks[runs + lastWord] & lastBit != 0 { return true }
            }
            return state[lastWord] & lastBit != 0
        }
    }
}

extension String {
    /// Whether all characters are in ASCII.
    fileprivate var isASCII: Bool {
        var span = utf8Span
        return span.checkForASCII()
    }

    /// The characters, in which a line feed is one of its own even after a carriage return, as in ASCII.
    fileprivate var separated: [Character] {
        flatMap { $0 == "\r\n" ? ["\r", "\n"] : [$0] }
    }
}
