import PropertyList
import Testing

/// Where we part from Foundation on purpose, so that a change on either side is noticed.
@Suite("Known differences from Foundation")
struct FoundationDifferencesTests {
    @Test(
        "Foundation reads what we refuse",
        arguments: [
            "<plist><true/></plist>x", "<string>&#1;</string>", "<array><key>a</key></array>", "<data>AA</data>",
            "<date>2001-02-30T00:00:00Z</date>", "<date>12001-01-01T00:00:00Z</date>",
            "<plist><plist><true/></plist></plist>",
            "\"\\400\"", "\"\\U\"", "\"\\Ud83d\"",
        ])
    func refused(text: String) {
        #expect(readByFoundation(Array(text.utf8)) != nil)
        #expect(errorOfReading(Array(text.utf8)) != nil)
    }

    @Test(
        "We read what Foundation refuses",
        arguments: [
            ("<string>a<!-- c -->b</string>", "ab"), ("<string>a<?p?>b</string>", "ab"), ("<data/>", .data([])),
            ("<*I5>", 5), ("<[AA==]>", .data([0])),
        ] as [(String, PropertyListValue)])
    func accepted(text: String, value: PropertyListValue) throws {
        #expect(readByFoundation(Array(text.utf8)) == nil)
        #expect(try parse(text) == value)
    }

    @Test(
        "We read something else",
        arguments: [
            ("<string>a\r\nb</string>", "a\r\nb", "a\nb"), ("<string a='>'>x</string>", "'>x", "x"),
        ] as [(String, PropertyListValue, PropertyListValue)])
    func different(text: String, theirs: PropertyListValue, ours: PropertyListValue) throws {
        #expect(readByFoundation(Array(text.utf8)) == theirs)
        #expect(try parse(text) == ours)
    }

    @Test("Of equal keys both keep the last one's value")
    func duplicates() throws {
        for text in ["<dict><key>a</key><true/><key>a</key><false/></dict>", "{a=1;a=2;}"] {
            #expect(try parse(text) == readByFoundation(Array(text.utf8)))
        }
        let document = binary([[0xD2, 1, 1, 2, 3], [0x51, 0x61], [0x08], [0x09]])
        #expect(try PropertyListValue(parsing: document) == ["a": true])
    }
}
