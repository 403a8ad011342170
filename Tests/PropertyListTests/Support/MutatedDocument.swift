import PropertyList

/// A valid document that was then changed at random; the same seed gives the same document.
struct MutatedDocument {
    let seed: UInt64
    let bytes: [UInt8]

    init(seed: UInt64, format: PropertyListFormat) throws {
        self.seed = seed
        var values = RandomValues(seed: seed, without: [.uid, .oddText])
        var bytes = try values.dictionary(depth: 3).write(as: format)
        let other = try values.dictionary(depth: 3).write(as: format)
        for _ in 0..<Int.random(in: 1...3, using: &values.generator) {
            Self.mutate(&bytes, other, format, &values.generator)
        }
        self.bytes = bytes
    }

    private static func mutate(
        _ bytes: inout [UInt8], _ other: [UInt8], _ format: PropertyListFormat, _ generator: inout SeededGenerator
    ) {
        func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &generator) }
        // A text's head and a binary's trailer decide whether there is any document at all, so most changes spare them.
        let first = format == .xml && below(10) > 0 ? min(bytes.count, 160) : 0
        let place = first + below(bytes.count - first)
        guard place < bytes.count else { return }
        switch below(8) {
        case 0: bytes[place] ^= 1 << UInt8(below(8))
        case 1: bytes[place] = UInt8(below(256))
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + 1 + below(12)))
        case 3:
            bytes.insert(
                contentsOf: bytes[place..<min(bytes.count, place + 1 + below(24))], at: first + below(place - first))
        case 4:
            let start = below(other.count)
            let piece = other[start..<min(other.count, start + 1 + below(60))]
            bytes.replaceSubrange(place..<min(bytes.count, place + below(60)), with: piece)
        case 5 where below(4) == 0: bytes.removeSubrange(place...)
        case 6 where format == .binary: bytes[max(0, bytes.count - 1 - below(32))] = UInt8(below(256))
        default:
            guard format == .xml, let token = tokens.randomElement(using: &generator) else {
                bytes[place] =
                    [0, 1, 8, 9, 0x0F, 0x10, 0x13, 0x23, 0x33, 0x4F, 0x5F, 0x6F, 0x7F, 0xAF, 0xDF, 0xFF][below(16)]
                return
            }
            // Next to markup, where the token may have a meaning.
            let markup = bytes[place...].firstIndex { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") } ?? place
            bytes.insert(contentsOf: token.utf8, at: bytes[markup] == UInt8(ascii: ">") ? markup + 1 : markup)
        }
    }

    private static let tokens = [
        "<!-- c -->", "<!--", "-->", "<?p i?>", "<![CDATA[x<y]]>", "&amp;", "&#65;", "&#x41;", "&#1;", "&#xD800;",
        "&lt", "&x;",
        "<true/>", "<false></false>", "<true>", "<string/>", "<data/>", "<dict/>", "<array/>", "<key>k</key>", "<key/>",
        "<integer>0x1F</integer>", "<integer> 7 </integer>", "<integer>+7</integer>", "<integer>1_0</integer>",
        "<integer>-9223372036854775809</integer>", "<integer>18446744073709551616</integer>", "<integer></integer>",
        "<real>nan</real>", "<real>-inf</real>", "<real>0x1p3</real>", "<real>1e999</real>", "<real>.5</real>",
        "<real>1,5</real>", "<date>2001-01-01T00:00:00Z</date>", "<date>2001-02-30T00:00:00Z</date>",
        "<date>2001-01Z</date>",
        "<date> 2001-01-01T00:00:00Z</date>", "<data>AA==</data>", "<data>A A = =</data>", "<data>AAA</data>",
        "<data>*</data>",
        "<real a='>'>1</real>", "<string xml:space=\"preserve\"> x </string>", "\r\n", "\r", " ", "\0", "\u{85}",
        "\u{FFFE}", "<plist>",
        "</plist>", "<string>\u{E9}</string>", "<key>e\u{301}</key><true/><key>\u{E9}</key><false/>", "x", "-", "0",
    ]
}
