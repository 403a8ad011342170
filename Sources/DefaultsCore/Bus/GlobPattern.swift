import Glibc

/// A pattern of names: `*` stands for any run of characters, `?` for any one, `\` takes the next as it is.
///
/// Names are compared byte by byte, in UTF-8.
package struct GlobPattern: Hashable, Sendable {
    package let text: String
    /// The bytes before the first wildcard; all of them where there is none.
    private let prefix: [UInt8]
    /// Everything from the first wildcard to the last one.
    private let middle: [Part]
    /// The bytes after the last wildcard.
    private let suffix: [UInt8]
    /// The middle's tables; `nil` where it is a single run, or nothing.
    private let tables: Tables?

    private enum Part: Hashable {
        case run
        case one
        case exactly(UInt8)

        /// The byte that it stands for; `nil` for a wildcard.
        var byte: UInt8? { if case .exactly(let byte) = self { byte } else { nil } }
    }

    package init(_ text: String) {
        self.text = text
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
        // Nothing follows it, so it stands for itself.
        if isEscaped { parts.append(.exactly(UInt8(ascii: "\\"))) }
        let first = parts.firstIndex { $0.byte == nil } ?? parts.count
        let last = parts.lastIndex { $0.byte == nil } ?? parts.count - 1
        prefix = parts[..<first].compactMap(\.byte)
        middle = first < parts.count ? Array(parts[first...last]) : []
        suffix = parts[(last + 1)...].compactMap(\.byte)
        tables = middle.isEmpty || middle == [.run] ? nil : Tables(middle)
    }

    /// Compares bytes, as `matches` does.
    package static func == (first: GlobPattern, second: GlobPattern) -> Bool {
        first.prefix == second.prefix && first.middle == second.middle && first.suffix == second.suffix
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(prefix)
        hasher.combine(middle)
        hasher.combine(suffix)
    }

    /// Makes the pattern that matches one name and no other, whatever characters it has.
    package static func exactly(_ name: String) -> GlobPattern {
        GlobPattern(
            name.unicodeScalars.reduce(into: "") { text, scalar in
                if "*?\\".unicodeScalars.contains(scalar) { text.unicodeScalars.append("\\") }
                text.unicodeScalars.append(scalar)
            })
    }

    /// The name that alone matches; `nil` where there are wildcards, or no domain can have the name.
    var domainName: DomainName? { hasWildcards ? nil : try? DomainName(String(decoding: prefix, as: UTF8.self)) }

    /// Whether more than one name can match.
    package var hasWildcards: Bool { !middle.isEmpty }

    /// Returns whether the whole name matches.
    ///
    /// Without wildcards bytes are compared. With wildcards the time is proportional to the name's length for every 64 bytes
    /// of the pattern, whatever the two are.
    package func matches(_ name: String) -> Bool {
        name.utf8Span.span.withUnsafeBufferPointer { name in
            let end = name.count - suffix.count
            guard middle.isEmpty ? prefix.count == end : prefix.count <= end else { return false }
            if let start = name.baseAddress {
                guard memcmp(start, prefix, prefix.count) == 0, memcmp(start + end, suffix, suffix.count) == 0 else {
                    return false
                }
            }
            // Most patterns have no wildcard, or one run.
            return tables?.match(UnsafeBufferPointer(rebasing: name[prefix.count..<end])) ?? true
        }
    }

    /// Bit masks of a pattern's parts: bit n of a mask is the n-th part that isn't a run.
    private struct Tables: Sendable {
        /// The number of such parts, and of the words that have a bit for each of them and one for the end.
        private let count: Int
        private let words: Int
        /// A mask for each value of a byte's upper half, and one for each of its lower half: a part that is in both is the
        /// byte.
        ///
        /// Then a mask of the parts that are `?`, and one of the places before which a run allows any byte.
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

        /// Follows all ways at once in which the parts match the bytes: bit n of the state is set while the first n parts
        /// match what has been read, runs not counted.
        func match(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: words) { state in
                state.initialize(repeating: 0)
                return masks.withUnsafeBufferPointer { match(bytes, $0, state) }
            }
        }

        private func match(
            _ bytes: UnsafeBufferPointer<UInt8>, _ masks: UnsafeBufferPointer<UInt64>,
            _ state: UnsafeMutableBufferPointer<UInt64>
        ) -> Bool {
            let (ones, runs) = (32 * words, 33 * words)
            let (lastWord, lastBit) = (count / 64, UInt64(1) << UInt64(count % 64))
            state[0] = 1
            for byte in bytes {
                // `?` takes the first byte of a character, and stays for the others.
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
                // A run at the end takes all the rest.
                if state[lastWord] & masks[runs + lastWord] & lastBit != 0 { return true }
            }
            return state[lastWord] & lastBit != 0
        }
    }
}
