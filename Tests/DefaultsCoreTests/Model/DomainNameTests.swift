import DefaultsCore
import TestSupport
import Testing

@Suite("Domain names")
struct DomainNameTests {
    @Test(
        "A domain name may contain anything that a file name may contain",
        arguments: [
            "org.example.editor", "a", "NSGlobalDomain", "with space", "a..b", "é", "日本語", "-rf", "*", "a\\b",
            "tab\there",
            String(repeating: "x", count: 200), String(repeating: "é", count: 100),
        ])
    func accepted(name: String) throws {
        #expect(try DomainName(name).description == name)
    }

    @Test(
        "The error for an invalid domain name states the rule that it breaks",
        arguments: [
            ("", "\"\" isn't a valid domain name: a name has at least one character."),
            ("../x", "\"../x\" isn't a valid domain name: a name can't contain \"/\"."),
            ("a/b", "\"a/b\" isn't a valid domain name: a name can't contain \"/\"."),
            ("/", "\"/\" isn't a valid domain name: a name can't contain \"/\"."),
            ("a\0b", "\"a\u{FFFD}b\" isn't a valid domain name: a name can't contain NUL."),
            (".", "\".\" isn't a valid domain name: a name can't begin with \".\"."),
            ("..", "\"..\" isn't a valid domain name: a name can't begin with \".\"."),
            (".\u{301}x", "\".\u{301}x\" isn't a valid domain name: a name can't begin with \".\"."),
            (
                String(repeating: "x", count: 201),
                "\"\(String(repeating: "x", count: 60))…\" isn't a valid domain name: a name has at most 200 bytes, "
                    + "this one has 201."
            ),
            (
                String(repeating: "é", count: 101),
                "\"\(String(repeating: "é", count: 60))…\" isn't a valid domain name: a name has at most 200 bytes, "
                    + "this one has 202."
            ),
        ])
    func refused(name: String, description: String) {
        let error = #expect(throws: DefaultsError.self) { try DomainName(name) }
        #expect(error?.code == .invalidDomainName)
        #expect(error?.description == description)
    }

    @Test("Names that differ in bytes are different domains, since they have different files")
    func byteEquality() throws {
        let composed = try DomainName("caf\u{E9}")
        let decomposed = try DomainName("cafe\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect((composed < decomposed) != (decomposed < composed))
    }

    @Test(
        "A host identifier has 1 to 36 letters, digits and hyphens",
        arguments: [
            ("", false), ("A", true), (String(repeating: "a", count: 36), true),
            (String(repeating: "a", count: 37), false),
            ("a.b", false), ("a/b", false), ("é", false), ("00F1-z", true),
        ])
    func hosts(identifier: String, isAccepted: Bool) {
        #expect(((try? DomainHost(identifier: identifier)) != nil) == isAccepted)
    }
}
