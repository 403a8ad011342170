import PropertyList
import Testing

/// A document, the edits, and the expected result; `nil` if the document has to be rewritten as a whole.
typealias SpliceRow = (document: String, edits: [String: PropertyListValue?], result: String?)

@Suite("Splicing")
struct SpliceTests {
    private static func spliced(_ row: SpliceRow) -> String? {
        let before = try? PropertyListDocument(reading: Array(row.document.utf8), limits: PropertyListLimits())
        guard case .dictionary(var values)? = before?.value else { return nil }
        for (key, value) in row.edits { values[key] = value }
        let result = TextSplice.splice(row.edits, into: Array(row.document.utf8), resultingCount: values.count)
        return result.map { String(decoding: $0, as: UTF8.self) }
    }

    private static let head = "<?xml version=\"1.0\"?>\n<!-- mine -->\n<plist>\n"

    static let xmlRows: [SpliceRow] = [
        // Only the value is replaced.
        (
            "<dict>\n  <key>a</key>\n  <integer>0x1F</integer> <!-- c -->\n  <key>b</key><true/>\n</dict>",
            ["b": false],
            "<dict>\n  <key>a</key>\n  <integer>0x1F</integer> <!-- c -->\n  <key>b</key><false/>\n</dict>"
        ),
        ("<dict><key>a</key><![CDATA[]]></dict>", ["a": 1], nil),
        (
            "<dict><key><![CDATA[a&b]]></key><string>x<!-- </string> -->y</string></dict>", ["a&b": "<"],
            "<dict><key><![CDATA[a&b]]></key><string>&lt;</string></dict>"
        ),
        (
            "<dict>\r\n  <key>a</key>\r\n  <array>\r\n    <true/>\r\n  </array>\r\n</dict>\r\n",
            ["a": [["k": .data([1])]]],
            "<dict>\r\n  <key>a</key>\r\n  <array>\r\n    <dict>\r\n      <key>k</key>\r\n      <data>\r\n"
                + "      AQ==\r\n      </data>\r\n    </dict>\r\n  </array>\r\n</dict>\r\n"
        ),
        // A removed key goes with its lines.
        (
            "<dict>\n\t<!-- of a -->\n\t<key>a</key>\n\t<true/>\n\t<!-- of b -->\n\t<key>b</key>\n\t<true/>\n</dict>",
            ["a": nil], "<dict>\n\t<!-- of a -->\n\t<!-- of b -->\n\t<key>b</key>\n\t<true/>\n</dict>"
        ),
        (
            "<dict>\n\t<key>a</key> <true/> <!-- of a -->\n</dict>", ["a": nil], "<dict>\n\t <!-- of a -->\n</dict>"
        ),
        ("<dict><key>a</key><true/><key>b</key><dict/></dict>", ["a": nil, "b": nil], "<dict></dict>"),
        // A new key goes between its neighbors, or to the end if the keys aren't in order.
        (
            head
                + "<dict>\n\t<key>a</key>\n\t<true/> <!-- a -->\n\n\t<!-- c -->\n\t<key>c</key>\n\t<true/>\n</dict>\n"
                + "</plist>",
            ["b": 1, "d": "x", "A": 0],
            head + "<dict>\n\t<key>A</key>\n\t<integer>0</integer>\n\t<key>a</key>\n\t<true/> <!-- a -->\n"
                + "\t<key>b</key>\n\t<integer>1</integer>\n\n\t<!-- c -->\n\t<key>c</key>\n\t<true/>\n"
                + "\t<key>d</key>\n\t<string>x</string>\n</dict>\n</plist>"
        ),
        (
            "<dict>\n <key>z</key> <true/>\n <key>a</key> <true/>\n <!-- end -->\n</dict>", ["b": 1, "aa": 2],
            "<dict>\n <key>z</key> <true/>\n <key>a</key> <true/>\n <key>aa</key> <integer>2</integer>\n"
                + " <key>b</key> <integer>1</integer>\n <!-- end -->\n</dict>"
        ),
        (
            "<dict><key>a</key><true/></dict>", ["b": "x", "A": 1],
            "<dict><key>A</key><integer>1</integer><key>a</key><true/><key>b</key><string>x</string></dict>"
        ),
        (
            "<plist>\n  <dict>\n    <key>a</key>\n    <true/></dict></plist>", ["b": [1]],
            "<plist>\n  <dict>\n    <key>a</key>\n    <true/>\n    <key>b</key>\n    <array>\n"
                + "      <integer>1</integer>\n    </array></dict></plist>"
        ),
        // The dictionary is empty.
        (
            "<dict>\n</dict>", ["a": true, "b": true],
            "<dict>\n\t<key>a</key>\n\t<true/>\n\t<key>b</key>\n\t<true/>\n</dict>"
        ),
        (
            "<dict></dict>", ["a": true, "b": 1],
            "<dict>\n\t<key>a</key>\n\t<true/>\n\t<key>b</key>\n\t<integer>1</integer>\n</dict>"
        ),
        (
            "<plist>\n  <dict/>\n</plist>", ["a": true],
            "<plist>\n  <dict>\n  \t<key>a</key>\n  \t<true/>\n  </dict>\n</plist>"
        ),
        ("<dict/>", ["a": nil], "<dict/>"),
        // Keys on adjacent lines are exchanged.
        (
            "<dict>\n\t<key>a</key>\n\t<true/>\n\t<key>c</key>\n\t<true/>\n</dict>", ["a": nil, "b": 1, "c": nil],
            "<dict>\n\t<key>b</key>\n\t<integer>1</integer>\n</dict>"
        ),
        (
            "<dict>\n\t<key>a</key>\n\t<true/>\n</dict>\0\0", ["a": false],
            "<dict>\n\t<key>a</key>\n\t<false/>\n</dict>\0\0"
        ),
        // These documents have to be rewritten as a whole.
        ("<dict><key>a</key><true/><key>a</key><true/></dict>", ["a": 1], nil),
        ("<dict><key>b</key><true/><key>b</key><true/></dict>", ["a": 1], nil),
        ("<dict><key>e\u{301}</key><true/><key>\u{E9}</key><true/></dict>", ["a": 1], nil),
        ("<dict><key>e\u{301}</key><true/></dict>", ["\u{E9}": 1], nil),
        ("<dict><key>K</key><true/></dict>", ["\u{212A}": 1], nil),
        ("<dict><key>\u{212A}</key><true/></dict>", ["K": 1], nil),
        ("<array/>", ["a": 1], nil), ("<dict><key>a</key><true/></dict>", ["a": "\u{1}"], nil),
        ("<?xml version='1.0' encoding='us-ascii'?><dict><key>a</key><true/></dict>", ["a": "é"], nil),
    ]

    static let oldStyleRows: [SpliceRow] = [
        (
            "// mine\n{\n  a = 0x1; // of a\n  'b c' = \"x\\001\"; /* of b */\n}\n", ["b c": "new", "a": .data([10])],
            "// mine\n{\n  a = <0a>; // of a\n  'b c' = new; /* of b */\n}\n"
        ),
        ("{ a = (1, 2); b = 1; }", ["a": ["x y", [:]]], "{ a = (\n    \"x y\",\n    {\n    }\n); b = 1; }"),
        ("{\n\ta = 1;\n\tb = 2;\n}", ["a": nil, "c": ["k": "v"]], "{\n\tb = 2;\n\tc = {\n\t\tk = v;\n\t};\n}"),
        ("{a=b;c=d;}", ["b": "x", "c": nil], "{a=b; b=x;}"), ("{}", ["a": "1"], "{\n    a = 1;\n}"),
        ("{\n}", ["a": "1", "b": "2"], "{\n    a = 1;\n    b = 2;\n}"), ("{ a; b; }", ["a": "x"], "{ a = x; b; }"),
        ("{ a /* c */ = /* d */ 1 /* e */ ; }", ["a": "2"], "{ a /* c */ = /* d */ 2 /* e */ ; }"),
        // A slash directly after an unquoted word would become part of it.
        (
            "{ a = \"b c\"// of a\n; b = (1)/* of b */; c = <0a>// of c\n; }", ["a": "x", "b": ["2"], "c": "3"],
            "{ a = x // of a\n; b = (\n    2\n)/* of b */; c = 3 // of c\n; }"
        ),
        // These are strings files.
        (
            "/* A */\n\"k\" = \"v\";\n\n/* B */\nx = y;", ["k": "w", "z": "1"],
            "/* A */\n\"k\" = w;\n\n/* B */\nx = y;\nz = 1;"
        ),
        // A new first key comes before the comments of the former first key, and after those of the file.
        ("// A\n  b = 1;\n", ["a": "0"], "  a = 0;\n// A\n  b = 1;\n"),
        (
            "/* The file. */\n\n/* B\n\n   // it */ // is\nb = 1;\n", ["a": "0", "aa": "1"],
            "/* The file. */\n\na = 0;\naa = 1;\n/* B\n\n   // it */ // is\nb = 1;\n"
        ),
        (
            "// The file.\r\n \t\r\n\r\nb = 1;\r\n", ["a": "0", "c": "2"],
            "// The file.\r\n \t\r\n\r\na = 0;\r\nb = 1;\r\nc = 2;\r\n"
        ),
        ("\n\nb = 1;", ["a": "0"], "\n\na = 0;\nb = 1;"),
        ("/* B */ b = 1;\n", ["a": "0"], " a = 0;/* B */ b = 1;\n"),
        ("b = 1;\n", ["a": "0"], "a = 0;\nb = 1;\n"), ("b = 1;", ["a": "0", "aa": "0"], "a = 0;\naa = 0;\nb = 1;"),
        ("b = \"//\"; // }\n", ["b": nil, "c": "{"], " // }\nc = \"{\";\n"),
        ("{ a = <*I5>; b = <[AA==]>; c = 1; }", ["c": "2"], "{ a = <*I5>; b = <[AA==]>; c = 2; }"),
        // These documents have to be rewritten as a whole.
        ("{ a = 1; }", ["a": 1], nil), ("{ a = 1; }", ["b": true], nil), ("{ a = 1; }", ["b": [["k": 1.5]]], nil),
        ("{ a = 1; a = 2; }", ["b": "1"], nil), ("// nothing\n", ["a": "1"], nil), ("(a)", ["a": "1"], nil),
        ("c = 1;", ["bplist": "1"], "\"bplist\" = 1;\nc = 1;"),
    ]

    @Test("A splice keeps everything else in an XML document", arguments: Self.xmlRows)
    func xml(row: SpliceRow) throws {
        try check(row)
    }

    @Test("A splice keeps everything else in an old-style document", arguments: Self.oldStyleRows)
    func oldStyle(row: SpliceRow) throws {
        try check(row)
    }

    private func check(_ row: SpliceRow) throws {
        #expect(Self.spliced(row) == row.result)
        guard let result = row.result else { return }
        guard case .dictionary(var values) = try parse(row.document) else { return }
        for (key, value) in row.edits { values[key] = value }
        #expect(try parse(result) == .dictionary(values))
    }

    @Test("A splice keeps a byte order mark, and refuses encodings other than UTF-8")
    func encodings() throws {
        let text = "<dict>\n\t<key>a</key>\n\t<true/>\n</dict>"
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let marked = TextSplice.splice(["a": false], into: mark + Array(text.utf8), resultingCount: 1)
        #expect(marked == mark + Array("<dict>\n\t<key>a</key>\n\t<false/>\n</dict>".utf8))
        let wide = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        for bytes in [wide, [0xFF, 0xFE] + wide, Array("<?xml encoding='ISO-8859-1'?>\(text)".utf8)] {
            #expect(try PropertyListValue(parsing: bytes) == ["a": true])
            #expect(TextSplice.splice(["a": false], into: bytes, resultingCount: 1) == nil)
        }
        #expect(TextSplice.splice(["a": false], into: Array(text.utf8) + [0xFF], resultingCount: 1) == nil)
        let binary = try (["a": true] as PropertyListValue).write(as: .binary)
        #expect(TextSplice.splice(["a": false], into: binary, resultingCount: 1) == nil)
    }

    @Test("A splice is refused if the document doesn't have the expected number of keys")
    func count() {
        let text = Array("{ a = 1; b = 2; }".utf8)
        #expect(TextSplice.splice(["a": "2"], into: text, resultingCount: 1) == nil)
        #expect(TextSplice.splice(["c": "2"], into: text, resultingCount: 2) == nil)
        #expect(TextSplice.splice(["c": nil], into: text, resultingCount: 2) == text)
    }

    /// Documents, the array, and the document after adding 1 and a dictionary; `nil` if it has to be rewritten.
    static let arrayRows: [(document: String, path: [TextSplice.Step], result: String?)] = [
        (
            head + "<dict>\n  <key>a</key>\n  <array>\n    <!-- x -->\n    <true/> <!-- y -->\n    <!-- z -->\n"
                + "  </array>\n</dict>\n</plist>\n",
            [.key("a")],
            head + "<dict>\n  <key>a</key>\n  <array>\n    <!-- x -->\n    <true/> <!-- y -->\n    <!-- z -->\n"
                + "    <integer>1</integer>\n    <dict>\n      <key>k</key>\n      <string>v</string>\n    </dict>\n"
                + "  </array>\n</dict>\n</plist>\n"
        ),
        (
            "<array>\r\n\t<true/>\r\n\t<array/>\r\n</array>", [.element(1)],
            "<array>\r\n\t<true/>\r\n\t<array>\r\n\t\t<integer>1</integer>\r\n\t\t<dict>\r\n"
                + "\t\t\t<key>k</key>\r\n\t\t\t<string>v</string>\r\n\t\t</dict>\r\n\t</array>\r\n</array>"
        ),
        (
            "<dict><key>a</key><array><dict><key>b&amp;</key><array></array></dict></array></dict>",
            [.key("a"), .element(0), .key("b&")],
            "<dict><key>a</key><array><dict><key>b&amp;</key><array>\n\t<integer>1</integer>\n\t<dict>\n"
                + "\t\t<key>k</key>\n\t\t<string>v</string>\n\t</dict>\n</array></dict></array></dict>"
        ),
        ("<array><true/></array>", [.element(1)], nil), ("<array><true/></array>", [.element(0)], nil),
        ("<dict><key>a</key><array/></dict>", [.key("b")], nil), ("<dict/>", [.key("a")], nil),
        ("{ a = (); }", [.key("a")], nil),
    ]

    @Test("Elements are added to an array of an XML document, and everything else is kept", arguments: Self.arrayRows)
    func arrays(row: (document: String, path: [TextSplice.Step], result: String?)) throws {
        let document = Array(row.document.utf8)
        let result = TextSplice.append([1, ["k": "v"]], toArrayAt: row.path, in: document)
        #expect(result.map { String(decoding: $0, as: UTF8.self) } == row.result)
        guard let result else { return }
        // Adding the same again finds the array that was changed.
        #expect(TextSplice.append([], toArrayAt: row.path, in: result) == result)
        #expect(try PropertyListValue(parsing: result) != PropertyListValue(parsing: document))
        #expect(TextSplice.append(["\u{1B}"], toArrayAt: row.path, in: document) == nil)
    }
}
