import DefaultsCore
import Glibc
import PropertyList
import TestSupport
import Testing

/// Tests that a save preserves the bytes that it needn't change.
@Suite("Saving into a file whose bytes are preserved")
struct SplicingTests {
    private static let head = "<?xml version=\"1.0\"?>\n<!-- Mine -->\n<plist>\n<dict>\n"

    @Test("Saving changes only the bytes of the changed keys")
    func xml() throws {
        try withStoreFixture { fixture in
            let untouched =
                "  <!-- Of b -->\n  <key>b</key> <integer>0x1F</integer>\n  <key>a</key> <string>x\r\ny</string>\n"
            let old = Self.head + untouched + "  <key>n</key> <integer>+1</integer> <!-- Of n -->\n</dict>\n</plist>\n"
            try RawFile.write(old, to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["n": 2, "z": ["k": true]])
            try store.save(fixture.domain)
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
            // Another save on top of the first.
            fixture.edit(store, ["n": nil, "z": nil])
            try store.save(fixture.domain)
            let last = Self.head + untouched + "   <!-- Of n -->\n</dict>\n</plist>\n"
            #expect(String(decoding: try RawFile.read(fixture.path), as: UTF8.self) == last)
            let again = fixture.store()
            _ = try again.start(resuming: nil)
            #expect(fixture.values(again) == ["b": 31, "a": "x\r\ny"])
        }
    }

    @Test("Saving values that XML rounds preserves the file's comments, as do the saves after that")
    func roundedValues() throws {
        try withStoreFixture { fixture in
            try RawFile.write(Self.head + "  <key>n</key> <integer>1</integer>\n</dict>\n</plist>\n", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(
                store,
                [
                    "date": .date(PropertyListDate(secondsSinceReferenceDate: 700_000_000.25)), "float": .real32(0.1),
                    "nan": .real(.nan),
                ])
            try store.save(fixture.domain)
            fixture.edit(store, ["n": 2])
            try store.save(fixture.domain)
            let text = String(decoding: try RawFile.read(fixture.path), as: UTF8.self)
            #expect(text.hasPrefix(Self.head) && text.contains("<key>n</key> <integer>2</integer>"))
            #expect(!RawFile.exists(fixture.path + ".comments-1"))
        }
    }

    @Test("A large binary file keeps the bytes of other values, until an edit needs a new container")
    func binary() throws {
        try withStoreFixture { fixture in
            var values = Dictionary(
                uniqueKeysWithValues: (0..<3_000).map { ("key\($0)", PropertyListValue.string("value \($0)")) })
            let old = try PropertyListValue.dictionary(values).write(as: .binary)
            try RawFile.write(old, to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            let edits: [String: PropertyListValue?] = ["key0": 1, "key1": nil, "new": "é"]
            fixture.edit(store, edits)
            try store.save(fixture.domain)
            for (key, value) in edits { values[key] = value }
            let new = [UInt8](try RawFile.read(fixture.path))
            // One key and two values are gone.
            #expect(zip(old.prefix(30_000), new).count { $0 != $1 } < 30)
            #expect(try PropertyListValue(parsing: new) == .dictionary(values))
            let whole = try PropertyListValue.dictionary(values).write(as: .binary)
            #expect(!whole.elementsEqual(new))
            fixture.edit(store, ["key0": ["a"]])
            try store.save(fixture.domain)
            values["key0"] = ["a"]
            #expect(
                [UInt8](try RawFile.read(fixture.path)) == (try PropertyListValue.dictionary(values).write(as: .binary))
            )
        }
    }

    @Test("An old-style file keeps its format while its values are strings, and becomes XML with a number")
    func oldStyle() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{\n    /* Of b */\n    b = 0x1F;\n    a = 1; // Of a\n}\n", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["a": "2", "c": ["x", .data([1])]])
            try store.save(fixture.domain)
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
            try store.save(fixture.domain)
            let read = try PropertyListValue.read(RawFile.read(fixture.path))
            #expect(read.format == .xml)
            #expect(read.value == ["a": "2", "b": "0x1F", "c": ["x", .data([1])], "d": 1])
        }
    }

    @Test(
        "Text that must be written as a whole stays text",
        arguments: [
            ("{ a = 1; a = 2; }", PropertyListFormat.oldStyle), ("{ \"\u{e9}\" = 1; \"e\u{301}\" = 2; }", .oldStyle),
            ("{ a = 1; b = <*I5>; a = 2; }", .xml),
        ])
    func wholeText(text: String, format: PropertyListFormat) throws {
        try withStoreFixture { fixture in
            let wide: [UInt8] = [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            for bytes in [Array(text.utf8), wide] {
                try RawFile.write(bytes, to: fixture.path)
                let store = fixture.store()
                _ = try store.start(resuming: nil)
                fixture.edit(store, ["c": "x"])
                try store.save(fixture.domain)
                let read = try PropertyListValue.read(RawFile.read(fixture.path))
                #expect(read.format == format)
                #expect(read.value == .dictionary(fixture.values(store)))
            }
        }
    }

    @Test(
        "An old-style file stays text after damage or a removal, and a damaged text file is replaced by text",
        arguments: ["{ a = 1; }", "<plist><dict><key>a</key><string>1</string></dict></plist>", nil],
        ["<<<<<<< ours\n{ a = 1; }", "{ a = ", "<plist><dict><key>a", nil])
    func damagedText(text: String?, damage: String?) throws {
        try withStoreFixture { fixture in
            let bytes = try text.map { Array($0.utf8) } ?? PropertyListValue.dictionary(["a": "1"]).write(as: .binary)
            try RawFile.write(bytes, to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            if let damage { try RawFile.write(damage, to: fixture.path) } else { unlink(fixture.path) }
            // A loss is confirmed at the second look.
            for _ in 0..<2 { fixture.look(store) }
            fixture.edit(store, ["c": "x"])
            try store.save(fixture.domain)
            let read = try PropertyListValue.read(RawFile.read(fixture.path))
            #expect((read.format == .binary) == (text == nil && damage == nil))
            #expect(read.value == .dictionary(fixture.values(store)))
        }
    }

    @Test("An edit is spliced into the version that another writer saved in the meantime")
    func overtaken() throws {
        try withStoreFixture { fixture in
            try RawFile.write("<dict>\n\t<key>a</key>\n\t<true/>\n</dict>", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["n": 1])
            try RawFile.write("<dict>\n\t<!-- new -->\n\t<key>b</key>\n\t<true/>\n</dict>", to: fixture.path)
            try store.save(fixture.domain)
            #expect(
                String(decoding: try RawFile.read(fixture.path), as: UTF8.self)
                    == "<dict>\n\t<!-- new -->\n\t<key>b</key>\n\t<true/>\n"
                    + "\t<key>n</key>\n\t<integer>1</integer>\n</dict>"
            )
        }
    }

    @Test("A file with duplicate keys is rewritten completely")
    func duplicates() throws {
        try withStoreFixture { fixture in
            try RawFile.write("<dict><key>a</key><true/><key>a</key><false/></dict>", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 1])
            try store.save(fixture.domain)
            #expect(try RawFile.read(fixture.path) == (["a": false, "b": 1] as PropertyListValue).write(as: .xml))
        }
    }

    @Test(
        "A file whose comments can't be preserved is copied before it is rewritten completely",
        arguments: [
            ("{ a = 1; /* Mine */ }", true),
            ("{ u = \"http://a\"; p = /usr//lib; q = \"\\\"//\"; }", false),
            ("<plist><!-- Mine --><dict><key>a</key><true/><key>a</key><true/></dict></plist>", true),
            ("<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>", false),
        ])
    func comments(_ text: String, _ isCopied: Bool) throws {
        try withStoreFixture { fixture in
            try RawFile.write(text, to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["n": 5])
            try store.save(fixture.domain)
            let copy = fixture.path + ".comments-1"
            #expect(RawFile.exists(copy) == isCopied)
            if isCopied { #expect(try RawFile.read(copy) == Array(text.utf8)) }
            #expect(try DomainValues.read(fixture.path)["n"] == 5)
            // The next save makes no further copy.
            fixture.edit(store, ["n": 6])
            try store.save(fixture.domain)
            #expect(!RawFile.exists(fixture.path + ".comments-2"))
        }
    }

    @Test("A file whose comments can't be preserved isn't copied for an edit that is too large")
    func commentsOfUnchangedFile() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; /* Mine */ }", to: fixture.path)
            let store = fixture.store(limits: PropertyListLimits(bytes: 2_000))
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["large": .string(String(repeating: "x", count: 3_000))])
            #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            fixture.edit(store, ["small": "1"])
            #expect(throws: DefaultsError.self) { try store.save(fixture.domain) }
            #expect(try DomainValues.read(fixture.path) == ["a": "1", "small": "1"])
            #expect(!RawFile.exists(fixture.path + ".comments-1"))
        }
    }
}
