import DefaultsCore
import TestSupport
import Testing

@Suite("Names of domains")
struct DomainNameTests {
    @Test(
        "A name may be anything that can stand in a file's name",
        arguments: [
            "org.example.editor", "a", "NSGlobalDomain", "with space", "a..b", "é", "日本語", "-rf", "*", "a\\b",
            "tab\there",
            String(repeating: "x", count: 200), String(repeating: "é", count: 100),
        ])
    func accepted(name: String) throws {
        #expect(try DomainName(name).description == name)
    }

    @Test(
        "An error says which rule a name breaks",
        arguments: [
            ("", "\"\" can't be a domain's name: a name has at least one character."),
            ("../x", "\"../x\" can't be a domain's name: a name has no \"/\"."),
            ("a/b", "\"a/b\" can't be a domain's name: a name has no \"/\"."),
            ("/", "\"/\" can't be a domain's name: a name has no \"/\"."),
            ("a\0b", "\"a\u{FFFD}b\" can't be a domain's name: a name has no NUL."),
            (".", "\".\" can't be a domain's name: a name doesn't begin with \".\"."),
            ("..", "\"..\" can't be a domain's name: a name doesn't begin with \".\"."),
            (".GlobalPreferences", "\".GlobalPreferences\" can't be a domain's name: a name doesn't begin with \".\"."),
            (".\u{301}x", "\".\u{301}x\" can't be a domain's name: a name doesn't begin with \".\"."),
            (
                String(repeating: "x", count: 201),
                "\"\(String(repeating: "x", count: 60))…\" can't be a domain's name: a name has at most 200 bytes, "
                    + "this one has 201."
            ),
            (
                String(repeating: "é", count: 101),
                "\"\(String(repeating: "é", count: 60))…\" can't be a domain's name: a name has at most 200 bytes, "
                    + "this one has 202."
            ),
        ])
    func refused(name: String, description: String) {
        let error = #expect(throws: DefaultsError.self) { try DomainName(name) }
        #expect(error?.code == .invalidDomainName)
        #expect(error?.description == description)
    }

    @Test("Names that differ in bytes are different domains, as their files are different files")
    func byteEquality() throws {
        let composed = try DomainName("caf\u{E9}")
        let decomposed = try DomainName("cafe\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect((composed < decomposed) != (decomposed < composed))
    }

    @Test(
        "A host's identifier has letters, digits and hyphens, from 1 to 36",
        arguments: [
            ("", false), ("A", true), (String(repeating: "a", count: 36), true),
            (String(repeating: "a", count: 37), false),
            ("a.b", false), ("a/b", false), ("é", false), ("00F1-z", true),
        ])
    func hosts(identifier: String, isAccepted: Bool) {
        #expect(((try? DomainHost(identifier: identifier)) != nil) == isAccepted)
    }
}
