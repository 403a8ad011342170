import PropertyList
import Testing

@Suite("Writing XML")
struct XMLWriterTests {
    private func body(_ value: PropertyListValue) throws -> String {
        let text = String(decoding: try value.write(as: .xml), as: UTF8.self)
        return String(
            text.split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false).last?.dropLast(9) ?? "")
    }

    @Test("The layout is Apple's")
    func layout() throws {
        let value: PropertyListValue = ["b": [1, true, [:], []], "a": .data(Array(0..<60)), "a&b": "<\r>"]
        #expect(
            String(decoding: try value.write(as: .xml), as: UTF8.self) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0">
                <dict>
                \t<key>a</key>
                \t<data>
                \tAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEy
                \tMzQ1Njc4OTo7
                \t</data>
                \t<key>a&amp;b</key>
                \t<string>&lt;&#13;&gt;</string>
                \t<key>b</key>
                \t<array>
                \t\t<integer>1</integer>
                \t\t<true/>
                \t\t<dict/>
                \t\t<array/>
                \t</array>
                </dict>
                </plist>

                """)
    }

    @Test(
        "A real has the shortest text that reads back",
        arguments: [
            (1, "1"), (0.1, "0.1"), (0, "0.0"), (-0.0, "-0.0"), (1e16, "10000000000000000"), (1e17, "1e+17"),
            (1e22, "1e+22"), (1.5e300, "1.5e+300"), (0.0001, "0.0001"), (0.00001, "1e-05"), (-2.5e-7, "-2.5e-07"),
            (123_456_789.125, "123456789.125"), (.nan, "nan"), (-.nan, "nan"), (Double(nan: 5, signaling: true), "nan"),
            (.infinity, "+infinity"),
            (-.infinity, "-infinity"), (1_234_567_890_123_456_768, "1.2345678901234568e+18"), (100, "100"),
        ] as [(Double, String)])
    func reals(number: Double, text: String) throws {
        #expect(try body(.real(number)) == "<real>\(text)</real>\n")
    }

    @Test(
        "A character that XML can't represent is refused with the key path",
        arguments: [
            0x00, 0x01, 0x08, 0x0B, 0x0C, 0x0E, 0x1F, 0xFFFE, 0xFFFF,
        ] as [UInt32])
    func unrepresentable(code: UInt32) throws {
        let scalar = String(try #require(Unicode.Scalar(code)))
        let value: PropertyListValue = ["list": [1, ["key": .string("a long text before " + scalar)]]]
        let error = #expect(throws: PropertyListError.self) { try value.write(as: .xml) }
        #expect(error?.code == .unrepresentable)
        #expect(error?.keyPath == "list[1].key")
        let name = String(code + 0x10000, radix: 16, uppercase: true).dropFirst()
        #expect(
            error?.description
                == "XML property list, value of list[1].key: the text contains U+\(name), "
                + "which XML cannot represent; the binary format can.")
        #expect(throws: PropertyListError.self) { try ([scalar: 1] as PropertyListValue).write(as: .xml) }
    }

    @Test("All characters that XML allows survive writing and reading")
    func survivors() throws {
        let text =
            String(
                String.UnicodeScalarView(
                    (1...0x10FFFF as ClosedRange<UInt32>).lazy.filter { $0 > 0x1F && $0 != 0xFFFE && $0 != 0xFFFF }
                        .compactMap(Unicode.Scalar.init))) + "\t\n\r\r\n"
        #expect(try PropertyListValue(parsing: PropertyListValue.string(text).write(as: .xml)) == .string(text))
    }
}
