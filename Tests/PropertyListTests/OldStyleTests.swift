import PropertyList
import Testing

@Suite("Old-style property lists")
struct OldStyleTests {
    @Test("Each text is read as the right value", arguments: Self.texts)
    func text(text: String, value: PropertyListValue) throws {
        #expect(try parse(text) == value)
    }

    static let texts: [(String, PropertyListValue)] = [
        ("a", "a"), ("{a=b;}", ["a": "b"]), ("{a;}", ["a": "a"]), ("a=b;c=d;", ["a": "b", "c": "d"]),
        ("a;", ["a": "a"]),
        ("\"a\"=\"b\";", ["a": "b"]), ("(a,b)", ["a", "b"]), ("(a,b,)", ["a", "b"]), ("()", []), ("{}", [:]),
        ("<0a0B>", .data([10, 11])), ("<0a\n 0b>", .data([10, 11])), ("< >", .data([])), ("   ", [:]),
        ("/* x */", [:]), ("// only", [:]), ("// x\n a /* y */ // z", "a"), ("a//c", "a//c"), ("-1", "-1"),
        ("a.b/c_$:-", "a.b/c_$:-"),
        ("\"\"", ""), ("'a\"b'", "a\"b"), ("\"a\nb\"", "a\nb"), ("\"é😀\"", "é😀"), ("{a=b;a=c;}", ["a": "c"]),
        ("\"\\a\\b\\f\\n\\r\\t\\v\\\"\\'\\\\\\z\"", "\u{7}\u{8}\u{C}\n\r\t\u{B}\"'\\z"), ("\"\\\n\"", "\n"),
        ("\"\\é\"", "é"),
        ("\"\\101\\341\\1234\\8\\0\"", "AÆS48\0"), ("\"\\U00e9\\U12x\\U00e9a\"", "é\u{12}xéa"),
        ("\"\\400\\501\\777\\U\\Ux\"", "\0A\u{FFFD}\0\0x"),
        ("\"\\Ud83d\\Ude00\"", "😀"), ("{\"CF$UID\"=5;}", ["CF$UID": "5"]), ("({\"CF$UID\"=<*I5>;})", [.uid(5)]),
        ("{a=(b,{c=d;},(),{});}", ["a": ["b", ["c": "d"], [], [:]]]),
        ("{a=<*I5>;b=<*I-5>;c=<*R0.5>;d=<*BY>;e=<*BN>;}", ["a": 5, "b": -5, "c": 0.5, "d": true, "e": false]),
        ("<*D2001-01-01 00:00:00 +0000>", .date(PropertyListDate(secondsSinceReferenceDate: 0))),
        ("<*D2001-01-01 01:30:00 +0130>", .date(PropertyListDate(secondsSinceReferenceDate: 0))),
        ("<*D2000-12-31 23:00:00 -0100>", .date(PropertyListDate(secondsSinceReferenceDate: 0))),
        ("<*I18446744073709551615>", .unsigned(.max)), ("<*I\"5\">", 5), ("(<[AAEC]>)", [.data([0, 1, 2])]),
        ("{ \"a b\" = \"c\" ; }\n", ["a b": "c"]), ("\u{FEFF}{a=b;}", ["a": "b"]),
        ("{a\u{2028}=\u{2029}b;}", ["a": "b"]),
        ("{\"a\"=1;/* c */b=2;// d\n}", ["a": "1", "b": "2"]),
    ]

    @Test(
        "An error names the position and what was expected",
        arguments: [
            ("", "line 1, column 1 (byte 0): the input is empty"),
            ("{a=b}", "line 1, column 5 (byte 4): expected ; after the value of key \"a\", found \"}\""),
            ("{\n  é = 1;\n}", "line 2, column 3 (byte 4): expected a key or }, found \"é\""),
            ("{a", "line 1, column 3 (byte 2): expected = or ; after key \"a\", found the end of the text"),
            ("{", "line 1, column 2 (byte 1): expected a key or }, found the end of the text"),
            ("(a b)", "line 1, column 4 (byte 3): expected , or ), found \"b\""),
            ("(,)", "line 1, column 2 (byte 1): expected a value, found \",\""),
            ("(a", "line 1, column 3 (byte 2): expected , or ), found the end of the text"),
            ("a=b", "line 1, column 4 (byte 3): expected ; after the value of key \"a\", found the end of the text"),
            ("a=b;(", "line 1, column 5 (byte 4): expected a key, found \"(\""),
            ("a b", "line 1, column 3 (byte 2): expected the end of the text, found \"b\""),
            ("{ a = b; } x", "line 1, column 12 (byte 11): expected the end of the text, found \"x\""),
            ("\"a", "line 1, column 1 (byte 0): the closing quotation mark is missing"),
            ("\"a\\", "line 1, column 3 (byte 2): the closing quotation mark is missing"),
            ("<0a0>", "line 1, column 4 (byte 3): expected two hexadecimal digits per byte, found one"),
            ("<0 a>", "line 1, column 2 (byte 1): expected two hexadecimal digits per byte, found one"),
            ("<0", "line 1, column 2 (byte 1): expected two hexadecimal digits per byte, found one"),
            ("(<zz>)", "line 1, column 3 (byte 2): expected hexadecimal digits or >, found \"z\""),
            ("\"\\Ud83d\"", "line 1, column 2 (byte 1): a surrogate has no partner"),
            ("\"\\Ud83d\\U0041\"", "line 1, column 2 (byte 1): a surrogate has no partner"),
            ("\"\\Ude00\"", "line 1, column 2 (byte 1): a surrogate has no partner"),
            ("a /* ", "line 1, column 3 (byte 2): the end of the comment is missing"),
            ("<*I5.5>", "line 1, column 1 (byte 0): <*I…> does not contain a whole number"),
            ("<*I99999999999999999999>", "line 1, column 1 (byte 0): the number does not fit in 64 bits"),
            ("<*Rx>", "line 1, column 1 (byte 0): <*R…> does not contain a number"),
            ("<*BX>", "line 1, column 1 (byte 0): <*B…> contains neither Y nor N"),
            (
                "<*D2001-01-01>",
                "line 1, column 1 (byte 0): <*D…> does not contain a valid date of the form 2001-01-01 00:00:00 +0000"
            ),
            ("<*X>", "line 1, column 1 (byte 0): expected one of <*I…>, <*R…>, <*B…>, <*D…>"),
            ("<*", "line 1, column 1 (byte 0): the closing > is missing"),
            ("<[AA]>", "line 1, column 1 (byte 0): the base64 is not valid"),
            ("@", "line 1, column 1 (byte 0): expected a value, found \"@\""),
        ])
    func error(text: String, description: String) {
        #expect(errorOfReading(Array(text.utf8))?.description == "Old-style property list, \(description).")
    }

    @Test("The layout is that of macOS's defaults command")
    func layout() throws {
        let value: PropertyListValue = [
            "a": [1, [2], ["k": "v"], []], "b c": ["d": "e f", "empty": [:]], "data": .data([10, 11, 255, 10, 1]),
            "no": "",
            "real": 0.5, "neg": -1, "flag": true, "q": "a\"b\\c\n\u{1}é\u{85}😀",
            "when": .date(PropertyListDate(secondsSinceReferenceDate: 0)),
        ]
        #expect(
            String(decoding: try value.write(as: .oldStyle), as: UTF8.self) == #"""
                {
                    a =     (
                        1,
                                (
                            2
                        ),
                                {
                            k = v;
                        },
                                (
                        )
                    );
                    "b c" =     {
                        d = "e f";
                        empty =         {
                        };
                    };
                    data = <0a0bff0a 01>;
                    flag = 1;
                    neg = "-1";
                    no = "";
                    q = "a\"b\\c\n\001é\U0085😀";
                    real = "0.5";
                    when = "2001-01-01 00:00:00 +0000";
                }

                """#)
    }

    @Test("Every character survives writing and reading")
    func survivors() throws {
        let text = String(
            String.UnicodeScalarView((0...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap(Unicode.Scalar.init)))
        #expect(try PropertyListValue(parsing: PropertyListValue.string(text).write(as: .oldStyle)) == .string(text))
    }

    @Test("Typed text in GNUstep's form keeps the types of numbers, Booleans and dates")
    func typed() throws {
        let value: PropertyListValue = [
            "data": .data([10]), "date": .date(PropertyListDate(secondsSinceReferenceDate: 0)), "flag": true,
            "inf": .real(-.infinity), "int": -5, "list": [false, ["real": 0.1]], "text": "5",
            "unsigned": .unsigned(.max),
        ]
        let text = try value.writeTypedOldStyle()
        #expect(
            String(decoding: text, as: UTF8.self) == """
                {
                    data = <0a>;
                    date = <*D2001-01-01 00:00:00 +0000>;
                    flag = <*BY>;
                    inf = <*R-inf>;
                    int = <*I-5>;
                    list = (
                        <*BN>,
                        {
                            real = <*R0.1>;
                        }
                    );
                    text = 5;
                    unsigned = <*I18446744073709551615>;
                }

                """)
        #expect(try PropertyListValue(parsing: text) == value)
        // A date outside the calendar is written as text, so that the document can be read back.
        let far = PropertyListValue.date(PropertyListDate(secondsSinceReferenceDate: 1e300))
        #expect(try PropertyListValue(parsing: far.writeTypedOldStyle()) == far.asStored(in: .oldStyle))
    }
}
