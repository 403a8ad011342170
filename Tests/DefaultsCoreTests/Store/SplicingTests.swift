import DefaultsCore
import PropertyList
import TestSupport
import Testing

/// What a save leaves of a file that a person wrote.
@Suite("Saving into a person's file")
struct SplicingTests {
    private static let head = "<?xml version=\"1.0\"?>\n<!-- Mine -->\n<plist>\n<dict>\n"

    @Test("A save changes the bytes of the keys that changed, and no others")
    func xml() throws {
        try withStoreFixture { fixture in
            let untouched =
                "  <!-- Of b -->\n  <key>b</key> <integer>0x1F</integer>\n  <key>a</key> <string>x\r\ny</string>\n"
            let old = Self.head + untouched + "  <key>n</key> <integer>+1</integer> <!-- Of n -->\n</dict>\n</plist>\n"
            try RawFile.write(old, to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["n": 2, "z": ["k": true]])
            try store.publish(fixture.domain)
            let new =
                Self.head + untouched
                    + """
                      <key>n</key> <integer>2</integer> <!-- Of n -->
                      <key>z</key> <dict>
                        <key>k</key>
                        <true/>
                      </dict>
                    </dict>
                    </plist>

                    """
            #expect(String(decoding: try RawFile.read(fixture.path), as: UTF8.self) == new)
            // Once more, on top of what was saved.
            fixture.edit(store, ["n": nil, "z": nil])
            try store.publish(fixture.domain)
            let last = Self.head + untouched + "   <!-- Of n -->\n</dict>\n</plist>\n"
            #expect(String(decoding: try RawFile.read(fixture.path), as: UTF8.self) == last)
            let again = fixture.store()
            _ = try again.lookAtAll(isBaseline: true)
            #expect(fixture.values(again) == ["b": 31, "a": "x\r\ny"])
        }
    }

    @Test("Values that XML can't hold as they are leave the file's comments alone, and so do the edits after them")
    func roundedValues() throws {
        try withStoreFixture { fixture in
            try RawFile.write(Self.head + "  <key>n</key> <integer>1</integer>\n</dict>\n</plist>\n", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(
                store,
                [
                    "date": .date(PropertyListDate(secondsSinceReferenceDate: 700_000_000.25)), "float": .real32(0.1),
                    "nan": .real(.nan),
                ])
            try store.publish(fixture.domain)
            fixture.edit(store, ["n": 2])
            try store.publish(fixture.domain)
            let text = String(decoding: try RawFile.read(fixture.path), as: UTF8.self)
            #expect(text.hasPrefix(Self.head) && text.contains("<key>n</key> <integer>2</integer>"))
            #expect(!RawFile.exists(fixture.path + ".comments-1"))
        }
    }

    @Test("An old-style file stays one while its values are strings, and becomes binary with a number")
    func oldStyle() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{\n    /* Of b */\n    b = 0x1F;\n    a = 1; // Of a\n}\n", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["a": "2", "c": ["x", .data([1])]])
            try store.publish(fixture.domain)
            let text = """
                {
                    /* Of b */
                    b = 0x1F;
                    a = 2; // Of a
                    c = (
                        x,
                        <01>
                    );
                }

                """
            #expect(String(decoding: try RawFile.read(fixture.path), as: UTF8.self) == text)
            fixture.edit(store, ["d": 1])
            try store.publish(fixture.domain)
            let read = try PropertyListValue.read(RawFile.read(fixture.path))
            #expect(read.format == .binary)
            #expect(read.value == ["a": "2", "b": "0x1F", "c": ["x", .data([1])], "d": 1])
        }
    }

    @Test("A version that another writer puts in place meanwhile is what the edit is made in")
    func overtaken() throws {
        try withStoreFixture { fixture in
            try RawFile.write("<dict>\n\t<key>a</key>\n\t<true/>\n</dict>", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["n": 1])
            try RawFile.write("<dict>\n\t<!-- new -->\n\t<key>b</key>\n\t<true/>\n</dict>", to: fixture.path)
            try store.publish(fixture.domain)
            #expect(
                String(decoding: try RawFile.read(fixture.path), as: UTF8.self)
                    == "<dict>\n\t<!-- new -->\n\t<key>b</key>\n\t<true/>\n\t<key>n</key>\n\t<integer>1</integer>\n</dict>"
            )
        }
    }

    @Test("A file with keys that come twice is written whole")
    func duplicates() throws {
        try withStoreFixture { fixture in
            try RawFile.write("<dict><key>a</key><true/><key>a</key><false/></dict>", to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["b": 1])
            try store.publish(fixture.domain)
            #expect(try RawFile.read(fixture.path) == (["a": false, "b": 1] as PropertyListValue).write(as: .xml))
        }
    }

    @Test(
        "A file whose comments can't be kept in it is copied aside before it is written whole",
        arguments: [
            ("{ a = 1; /* Mine */ }", true), ("// Mine\n", true),
            ("{ u = \"http://a\"; p = /usr//lib; q = \"\\\"//\"; }", false),
            ("<plist><!-- Mine --><dict><key>a</key><true/><key>a</key><true/></dict></plist>", true),
            ("<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>", false),
        ])
    func comments(_ text: String, _ isCopied: Bool) throws {
        try withStoreFixture { fixture in
            try RawFile.write(text, to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["n": 5])
            try store.publish(fixture.domain)
            let copy = fixture.path + ".comments-1"
            #expect(RawFile.exists(copy) == isCopied)
            if isCopied { #expect(try RawFile.read(copy) == Array(text.utf8)) }
            #expect(try DomainValues.read(fixture.path)["n"] == 5)
            // Not once more.
            fixture.edit(store, ["n": 6])
            try store.publish(fixture.domain)
            #expect(!RawFile.exists(fixture.path + ".comments-2"))
        }
    }
}
