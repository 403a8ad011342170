import PropertyList
import Testing

@Suite("Reading XML")
struct XMLReaderTests {
    @Test("Each body is read as the right value", arguments: Self.bodies)
    func body(text: String, value: PropertyListValue) throws {
        #expect(try PropertyListValue(parsing: xml(text)) == value)
    }

    static let bodies: [(String, PropertyListValue)] = [
        ("<integer>5</integer>", 5), ("<integer> \n5</integer>", 5), ("<integer>+5</integer>", 5),
        ("<integer>-5</integer>", -5), ("<integer>- 5</integer>", -5), ("<integer>0x1F</integer>", 31),
        ("<integer>0X1f</integer>", 31), ("<integer>-0x1F</integer>", -31), ("<integer>007</integer>", 7),
        ("<integer>18446744073709551615</integer>", .unsigned(.max)),
        ("<integer>0xFFFFFFFFFFFFFFFF</integer>", .unsigned(.max)),
        ("<integer>-9223372036854775808</integer>", .integer(.min)),
        ("<integer>-0x8000000000000000</integer>", .integer(.min)), ("<integer>&#49;<![CDATA[2]]></integer>", 12),
        ("<real>1</real>", 1.0), ("<real> 1.5</real>", 1.5), ("<real>nan</real>", .real(.nan)),
        ("<real>NaN</real>", .real(.nan)), ("<real>inf</real>", .real(.infinity)),
        ("<real>+infinity</real>", .real(.infinity)), ("<real>-infinity</real>", .real(-.infinity)),
        ("<real>INF</real>", .real(.infinity)), ("<real>1e400</real>", .real(.infinity)), ("<real>1e-400</real>", 0.0),
        ("<real>1.</real>", 1.0), ("<real>.5</real>", 0.5), ("<real>+1</real>", 1.0), ("<real>-0</real>", .real(-0.0)),
        ("<true/>", true), ("<false></false>", false), ("<true />", true), ("<string/>", ""), ("<string></string>", ""),
        ("<string> a </string>", " a "), ("<string a='>'>x</string>", "x"),
        ("<string>a<![CDATA[b&<c]]>d]]></string>", "ab&<cd]]>"), ("<string>a<!-- c -->b<?p ?>c</string>", "abc"),
        ("<string>&#65;&#x41;&#x1F600;</string>", "AA😀"), ("<string>&apos;&quot;&lt;&gt;&amp;</string>", "'\"<>&"),
        ("<string>a\r\nb\rc&#13;&#10;<![CDATA[\r\n\r]]></string>", "a\r\nb\rc\r\n\r\n\r"),
        ("<dict><key>a\rb</key><string>\r</string></dict>", ["a\rb": "\r"]),
        ("<string>\u{1}</string>", "\u{1}"), ("<string>a>b</string>", "a>b"),
        ("<dict><key>a</key><string>1</string><key>a</key><string>2</string></dict>", ["a": "2"]),
        ("<dict/>", [:]), ("<dict></dict>", [:]), ("<dict><key/><string/></dict>", ["": ""]), ("<array/>", []),
        ("<dict><key>CF$UID</key><integer>5</integer></dict>", .uid(5)),
        ("<dict><key>CF$UID</key><integer>18446744073709551615</integer></dict>", .uid(.max)),
        ("<dict><key>CF$UID</key><integer>-5</integer></dict>", ["CF$UID": -5]),
        ("<dict><key>CF$UID</key><string>5</string></dict>", ["CF$UID": "5"]),
        ("<dict><key>CF$UID</key><integer>5</integer><key>a</key><true/></dict>", ["CF$UID": 5, "a": true]),
        ("<array><dict><key>CF$UID</key><integer>0</integer></dict></array>", [.uid(0)]),
        ("<array>\n<!-- c --><string>x</string ><?p?></array >", ["x"]),
        ("<date>2001-01-01T00:00:00Z</date>", .date(PropertyListDate(secondsSinceReferenceDate: 0))),
        ("<date>2024-01-32T20:43:14Z</date>", .date(PropertyListDate(secondsSinceReferenceDate: 728_512_994))),
        ("<data>AA==</data>", .data([0])), ("<data/>", .data([])), ("<data>\n\tAQ ID\r\n</data>", .data([1, 2, 3])),
        ("<data>AAB=</data>", .data([0, 0])),
    ]

    @Test(
        "Declarations, wrappers and trailing zeros around a value are accepted",
        arguments: [
            "<true/>", "<?xml version='1.0'?><true/>", "<plist><true/></plist> <!-- x --><?x?>\n",
            " <plist><true/></plist>",
            "\n<?xml version=\"1.0\"?><plist><true/></plist>", "<!DOCTYPE plist><plist ><true/></plist >",
            "<!DOCTYPE plist PUBLIC \"-//x>\" 'y>'><plist version='1.0'><true/></plist>",
            "\u{FEFF}<plist><true/></plist>", "<plist><true/></plist>\0", "<true/>\n\0\0\n\0",
            "<?xml version='1.0' encoding=\"utf-8\" ?><true/>", "<?xml encoding = 'ASCII'?><true/>",
            "<?xml version='1.0' encoding='ISO-8859-1'?><true/>",
        ])
    func document(text: String) throws {
        #expect(try parse(text) == true)
    }

    @Test("An error names the position and what was expected", arguments: Self.errors)
    func error(text: String, code: PropertyListError.Code, description: String) {
        let error = errorOfReading(Array(text.utf8))
        #expect(error?.description == "XML property list, \(description).")
        #expect(error?.code == code)
    }

    static let errors: [(String, PropertyListError.Code, String)] = [
        (
            "<plist>\n<dict>\n  <key>a</key>\n  <string>x</key>\n</dict></plist>", .syntax,
            "line 4, column 12 (byte 41): expected </string>, found </key>"
        ),
        ("<plist>\n<é/></plist>", .syntax, "line 2, column 1 (byte 8): expected a value, found <é/>"),
        (
            "<string>é\u{1F600}&x;</string>", .syntax,
            "line 1, column 11 (byte 14): expected one of &lt; &gt; &amp; &quot; &apos; or a character reference such "
                + "as &#65;, found another entity or a lone &"
        ),
        (
            "<string>&#0;</string>", .syntax,
            "line 1, column 9 (byte 8): XML 1.0 does not allow the referenced character"
        ),
        (
            "<string>&#xD800;</string>", .syntax,
            "line 1, column 9 (byte 8): XML 1.0 does not allow the referenced character"
        ),
        (
            "<string>&#99999999999999999999;</string>", .syntax,
            "line 1, column 9 (byte 8): XML 1.0 does not allow the referenced character"
        ),
        (
            "<string>&#x;</string>", .syntax,
            "line 1, column 9 (byte 8): expected a character reference such as &#65; or &#x41;"
        ),
        (
            "<dict><key>a</key></dict>", .syntax,
            "line 1, column 19 (byte 18): expected a value for key \"a\", found </dict>"
        ),
        (
            "<dict><key>a</key><key>b</key></dict>", .syntax,
            "line 1, column 19 (byte 18): expected a value for key \"a\", found <key>"
        ),
        (
            "<dict><string>a</string></dict>", .syntax,
            "line 1, column 7 (byte 6): expected <key> or </dict>, found <string>"
        ),
        ("<dict>", .syntax, "line 1, column 7 (byte 6): expected <key> or </dict>, found the end of the document"),
        ("<array>x</array>", .syntax, "line 1, column 8 (byte 7): expected a value or </array>, found \"x\""),
        ("<array></dict>", .syntax, "line 1, column 8 (byte 7): expected a value or </array>, found </dict>"),
        ("<plist/>", .syntax, "line 1, column 9 (byte 8): <plist/> does not contain a value"),
        ("<plist></plist>", .syntax, "line 1, column 8 (byte 7): expected a value, found </plist>"),
        (
            "<plist><plist><true/></plist></plist>", .syntax,
            "line 1, column 8 (byte 7): expected a value, found <plist>"
        ),
        ("<true/>x", .syntax, "line 1, column 8 (byte 7): expected the end of the document, found \"x\""),
        ("<plist><true/><true/></plist>", .syntax, "line 1, column 15 (byte 14): expected </plist>, found <true/>"),
        (
            "<plist><true/></plist>\r\n\r<x", .syntax,
            "line 3, column 1 (byte 25): expected the end of the document, found <x"
        ),
        ("<true>x</true>", .syntax, "line 1, column 7 (byte 6): expected </true>, found \"x\""),
        ("<string>a", .syntax, "line 1, column 10 (byte 9): expected </string>, found the end of the document"),
        ("<string>a<b/></string>", .syntax, "line 1, column 10 (byte 9): expected </string>, found <b/>"),
        ("<string>\0<\u{1}", .syntax, "line 1, column 10 (byte 9): expected </string>, found <\\u{1}"),
        ("<string>a<!-- </string>", .syntax, "line 1, column 10 (byte 9): the end of the comment is missing"),
        ("<string><![CDATA[ ]]", .syntax, "line 1, column 9 (byte 8): the end of the CDATA section is missing"),
        ("<?xml ", .syntax, "line 1, column 1 (byte 0): the end of the processing instruction is missing"),
        ("<!DOCTYPE plist", .syntax, "line 1, column 1 (byte 0): the end of the DOCTYPE is missing"),
        (
            "<!DOCTYPE plist [<!ENTITY a 'b'>]><string>&a;</string>", .unsupported,
            "line 1, column 17 (byte 16): a DOCTYPE with an internal subset is not supported"
        ),
        ("<integer>5 </integer>", .syntax, "line 1, column 10 (byte 9): <integer> does not contain a whole number"),
        ("<integer/>", .syntax, "line 1, column 11 (byte 10): <integer/> does not contain a number"),
        (
            "<integer>18446744073709551616</integer>", .numberOutOfRange,
            "line 1, column 10 (byte 9): the number does not fit in 64 bits"
        ),
        (
            "<integer>-9223372036854775809</integer>", .numberOutOfRange,
            "line 1, column 10 (byte 9): the number does not fit in 64 bits"
        ),
        ("<real>0x1p3</real>", .syntax, "line 1, column 7 (byte 6): <real> does not contain a number"),
        ("<real>1.5 </real>", .syntax, "line 1, column 7 (byte 6): <real> does not contain a number"),
        (
            "<date>2001-02-28 00:00:00Z</date>", .syntax,
            "line 1, column 7 (byte 6): <date> does not contain a date of the form 2001-01-01T00:00:00Z"
        ),
        ("<data>AA</data>", .syntax, "line 1, column 7 (byte 6): <data> does not contain valid base64"),
        (
            "<?xml version='1.0' encoding='koi8-r'?><true/>", .unsupportedEncoding,
            "line 1, column 31 (byte 30): expected encoding UTF-8, UTF-16, US-ASCII or ISO-8859-1, found koi8-r"
        ),
        (
            "\n<?xml version='1.0' encoding='utf-16'?><true/>", .unsupportedEncoding,
            "line 2, column 31 (byte 31): the document says it is in utf-16, but its bytes are not"
        ),
        (
            "<?xml encoding='us-ascii'?>\n<string>é</string>", .invalidText,
            "line 2, column 9 (byte 36): the document says it is in US-ASCII, but contains byte 0xC3"
        ),
    ]

    @Test(
        "Malformed integers, reals, dates and base64 are refused",
        arguments: [
            "<integer>5a</integer>", "<integer></integer>", "<integer>0x</integer>", "<integer>--5</integer>",
            "<integer>5.0</integer>", "<real></real>", "<real>1,5</real>", "<real>e</real>", "<real>1e</real>",
            "<real>--1</real>", "<real>.</real>", "<real>infinit</real>", "<data>A</data>", "<data>A*A=</data>",
            "<data>AAA=AAAA</data>", "<data>====</data>", "<date/>", "<real/>",
        ])
    func malformed(text: String) {
        #expect(errorOfReading(xml(text))?.code == .syntax)
    }

    @Test("UTF-16 is read in either byte order, with and without a byte order mark")
    func utf16() throws {
        let text = "<?xml version='1.0' encoding='UTF-16'?>\n<string>é漢😀</string>"
        let units = Array(text.utf16)
        let little = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let big = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        for bytes in [little, big, [0xFF, 0xFE] + little, [0xFE, 0xFF] + big] {
            #expect(try PropertyListValue(parsing: bytes) == "é漢😀")
        }
        let broken = errorOfReading(
            [0xFE, 0xFF] + Array("<string>😀\n<".utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
        #expect(broken?.position?.line == 2)
        #expect(broken?.position?.column == 1)
        #expect(broken?.position?.byteOffset == 24)
        #expect(errorOfReading(little.dropLast())?.code == .invalidText)
        #expect(errorOfReading([0xFE, 0xFF, 0, 0x3C, 0xDC, 0])?.position?.byteOffset == 4)
    }

    @Test("ISO-8859-1 is read, and error positions count its bytes")
    func latin1() throws {
        let head = Array("<?xml version='1.0' encoding='ISO-8859-1'?><string>".utf8)
        #expect(try PropertyListValue(parsing: head + [0xE9] + Array("</string>".utf8)) == "é")
        #expect(errorOfReading(head + [0xE9] + Array("</key>".utf8))?.position?.byteOffset == head.count + 1)
    }

    @Test(
        "Text that isn't UTF-8 is refused at the first invalid byte",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF8], [0xE2, 0x82], [0xFF],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        let error = errorOfReading(Array("<string>\né12345678".utf8) + bytes + Array("</string>".utf8))
        #expect(error?.code == .invalidText)
        #expect(error?.position?.byteOffset == 19)
        #expect(error?.position?.line == 2)
        #expect(error?.position?.column == 10)
    }

    @Test(
        "Text in UTF-32 or UTF-7 is refused by name",
        arguments: [
            ([0xFF, 0xFE, 0, 0, 0x3C, 0, 0, 0], "UTF-32"), ([0, 0, 0xFE, 0xFF, 0, 0, 0, 0x7B], "UTF-32"),
            ([0, 0, 0, 0x3C, 0, 0, 0, 0x3C], "UTF-32"), ([0x7B, 0, 0, 0, 0x7D, 0, 0, 0], "UTF-32"),
            ([0, 0, 0, 0x7B, 0, 0, 0, 0x7D], "UTF-32"), (Array("+/v8-{a=b;}".utf8), "UTF-7"),
            (Array("+/v9+ADw-true/+AD4-".utf8), "UTF-7"), (Array("+ADw-true/+AD4-".utf8), "UTF-7"),
        ] as [([UInt8], String)])
    func namedEncodings(bytes: [UInt8], name: String) {
        let error = errorOfReading(bytes)
        #expect(error?.code == .unsupportedEncoding)
        #expect(error?.message == "expected UTF-8 or UTF-16, found \(name)")
    }
}
