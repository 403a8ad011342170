import PropertyList
import Testing

/// Tests of our intended differences from Foundation, so that a change on either side is noticed.
@Suite("Known differences from Foundation")
struct FoundationDifferencesTests {
    @Test(
        "A document that Foundation reads but that is invalid is refused",
        arguments: [
            "<plist><true/></plist>x", "<string>&#1;</string>", "<array><key>a</key></array>", "<data>AA</data>",
            "<date>12001-01-01T00:00:00Z</date>",
            "<plist><plist><true/></plist></plist>",
            "\"\\Ud83d\"",
        ])
    func refused(text: String) {
        #expect(readByFoundation(Array(text.utf8)) != nil)
        #expect(errorOfReading(Array(text.utf8)) != nil)
    }

    @Test(
        "A valid document that Foundation refuses is read",
        arguments: [
            ("<string>a<!-- c -->b</string>", "ab"), ("<string>a<?p?>b</string>", "ab"), ("<data/>", .data([])),
            ("<*I5>", 5), ("<[AA==]>", .data([0])),
        ] as [(String, PropertyListValue)])
    func accepted(text: String, value: PropertyListValue) throws {
        #expect(readByFoundation(Array(text.utf8)) == nil)
        #expect(try parse(text) == value)
    }

    @Test(
        "A quoted > in an attribute doesn't end the tag, unlike in Foundation",
        arguments: [
            ("<string a='>'>x</string>", "'>x", "x")
        ] as [(String, PropertyListValue, PropertyListValue)])
    func different(text: String, theirs: PropertyListValue, ours: PropertyListValue) throws {
        #expect(readByFoundation(Array(text.utf8)) == theirs)
        #expect(try parse(text) == ours)
    }

    @Test(
        "Carriage returns in XML are read as Foundation reads them",
        arguments: ["<string>a\r\nb\rc\n</string>", "<dict><key>\r</key><string>a&#13;\r\n</string></dict>"])
    func carriageReturns(text: String) throws {
        let value = try parse(text)
        #expect(readByFoundation(Array(text.utf8)) == value)
        #expect(try PropertyListValue(parsing: value.write(as: .xml)) == value)
    }

    @Test(
        "Dates that don't exist, which Foundation once wrote, are read as Foundation reads them",
        arguments: [
            "2024-01-32T20:43:14Z", "2001-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:60Z", "2024-12-99T99:99:99Z", "0000-00-00T00:00:00Z", "9999-12-32T00:00:00Z",
        ])
    func datesRollOver(text: String) throws {
        let document = Array("<date>\(text)</date>".utf8)
        #expect(try PropertyListValue(parsing: document) == readByFoundation(document))
    }

    @Test(
        "Old-style escapes are read as Foundation reads them",
        arguments: ["\"\\400\"", "\"\\501\"", "\"\\U\"", "\"a\\Ux\"", "\"\\U1\""])
    func escapes(text: String) throws {
        #expect(try parse(text) == readByFoundation(Array(text.utf8)))
    }

    @Test(
        "Foundation reads a 32-bit real in XML as the same number",
        arguments: [0.1, 3.4e38, .leastNonzeroMagnitude, 16_777_216] as [Float])
    func narrowReals(number: Float) throws {
        #expect(readByFoundation(try PropertyListValue.real32(number).write(as: .xml)) == .real(Double(number)))
    }

    @Test("The last of several equal keys wins, except in Foundation's binary reader, where the first one does")
    func duplicates() throws {
        for text in ["<dict><key>a</key><true/><key>a</key><false/></dict>", "{a=1;a=2;}"] {
            #expect(try parse(text) == readByFoundation(Array(text.utf8)))
        }
        let document = binary([[0xD2, 1, 1, 2, 3], [0x51, 0x61], [0x08], [0x09]])
        #expect(try PropertyListValue(parsing: document) == ["a": true])
        #expect(readByFoundation(document) == ["a": false])
    }

    @Test("Keys that are the same text in different scalars are refused, while Foundation drops one of them")
    func equivalentKeys() throws {
        for (document, place) in Self.equivalentKeys {
            #expect(readByFoundation(document) != nil)
            let error = errorOfReading(document)
            #expect(error?.code == .equivalentKeys)
            #expect(
                error?.description
                    == "\(place): the key \"\\u{E9}\" is the same text as \"e\\u{301}\", an earlier key of the "
                    + "dictionary, in different Unicode scalars; rename or remove one of them.")
        }
    }

    @Test("A document reader merges equivalent keys, keeps the first one with the last one's value, and reports them")
    func equivalentKeysOfFiles() throws {
        for (document, _) in Self.equivalentKeys {
            let read = try PropertyListDocument(reading: document, limits: PropertyListLimits())
            #expect(read.hasEquivalentKeys)
        }
        let text = Array("{ \"e\u{301}\" = 1; b = 2; \"\u{E9}\" = 3; }".utf8)
        let read = try PropertyListDocument(reading: text, limits: PropertyListLimits())
        #expect(read.value == ["e\u{301}": "3", "b": "2"] && read.format == .oldStyle)
        let twice = try PropertyListDocument(reading: Array("{ a = 1; a = 2; }".utf8), limits: PropertyListLimits())
        #expect(twice.value == ["a": "2"] && !twice.hasEquivalentKeys)
    }

    /// Documents whose first key is "é" in two scalars and whose second is "é" in one; and the second one's position.
    static let equivalentKeys: [([UInt8], String)] = [
        (
            Array("<dict>\n<key>e\u{301}</key><true/>\n<key>&#xE9;</key><false/></dict>".utf8),
            "XML property list, line 3, column 1 (byte 29)"
        ),
        (
            Array(
                """
                <array><dict><key>a</key><true/><key>a</key><dict><key>e\u{301}</key><true/><key>\u{E9}</key><true/>\
                </dict></dict></array>
                """.utf8),
            "XML property list, line 1, column 71 (byte 71)"
        ),
        (
            Array("{a = 1; a = 2; \"e\u{301}\" = 1;\n b = 2; \"\u{E9}\" = 3;}".utf8),
            "Old-style property list, line 2, column 9 (byte 34)"
        ),
        (
            binary([[0xD3, 1, 2, 3, 4, 4, 4], [0x51, 0x61], [0x62, 0, 0x65, 3, 1], [0x61, 0, 0xE9], [0x09]]),
            "Binary property list, byte 11"
        ),
    ]

    @Test("Equivalent keys in different dictionaries, and keys repeated in the same scalars, are accepted")
    func equalKeys() throws {
        let text = "{ a = {\"e\u{301}\" = 1; \"e\u{301}\" = 2;}; b = {\"\u{E9}\" = 3;}; a2 = 4; a2 = 5; }"
        #expect(try parse(text) == ["a": ["e\u{301}": "2"], "b": ["\u{E9}": "3"], "a2": "5"])
        // The same object serves as two keys, in a dictionary that is used twice.
        let document = binary(
            [[0xA2, 1, 1], [0xD2, 2, 2, 3, 3], [0x62, 0, 0x65, 3, 1], [0x09]])
        #expect(try PropertyListValue(parsing: document) == [["e\u{301}": true], ["e\u{301}": true]])
    }
}
