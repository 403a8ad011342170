import DefaultsCore
import TestSupport
import Testing

@Suite("Escaped domain names")
struct EscapedNameTests {
    static let long = String(repeating: "é", count: 150)

    @Test(
        "Text that can't be a name is escaped, and other text stays unchanged",
        arguments: [
            ("org.example.editor", "org.example.editor"), ("100%", "100%"), ("a%2Fb", "a%2Fb"), ("日本語", "日本語"),
            ("MyTests/FileTests.swift", "MyTests%2FFileTests.swift"), ("", "%"), (".hidden", "%2Ehidden"),
            ("..", "%2E."),
            ("../x", "%2E.%2Fx"), ("a\0b", "a%00b"), ("50%/a", "50%25%2Fa"), ("/\u{301}x", "%2F\u{301}x"),
            (".GlobalPreferences", "NSGlobalDomain"), ("NSGlobalDomain", "NSGlobalDomain"),
            ("Apple Global Domain", "NSGlobalDomain"), ("kCFPreferencesAnyApplication", "NSGlobalDomain"),
        ])
    func table(text: String, name: String) {
        #expect(Array(DomainName(escaping: text).description.utf8) == Array(name.utf8))
    }

    @Test("Text that is too long is cut between scalars and ends in a hash of the whole text")
    func long() {
        let name = DomainName(escaping: Self.long).description
        #expect(name.utf8.count == 200)
        #expect(name.hasPrefix(String(repeating: "é", count: 91)))
        #expect(name.dropFirst(91).hasPrefix("%-"))
        #expect(DomainName(escaping: Self.long + "x") != DomainName(escaping: Self.long + "y"))
        #expect(DomainName(escaping: String(repeating: "a", count: 200)).description.hasSuffix("aaa"))
        #expect(DomainName(escaping: String(repeating: "/", count: 5_000)).description.utf8.count <= 200)
    }

    @Test("A name with a special meaning is escaped if it is reserved")
    func reserved() {
        #expect(DomainName(escaping: "NSArgumentDomain", isReserved: true).description == "%4ESArgumentDomain")
    }

    @Test("Different invalid texts get different escaped names, which are stable and have valid file names")
    func injective() {
        let seed = UInt64(0xE5_CA9E)
        var random = PseudoRandom(seed: seed)
        let scalars: [Unicode.Scalar] = ["/", "%", ".", "2", "F", "E", "-", "\0", "é", "\u{301}", "a"]
        var texts: [DomainName: [UInt8]] = [:]
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<random.below(random.oneIn(8) ? 300 : 6) { text.unicodeScalars.append(random.pick(scalars)) }
            let name = DomainName(escaping: text)
            #expect(DomainName(escaping: name.description) == name)
            #expect(Domain(fileName: Domain(name).fileName) == Domain(name))
            guard (try? DomainName(text)) == nil else { continue }
            let other = texts.updateValue(Array(text.utf8), forKey: name)
            #expect(other == nil || other == Array(text.utf8), "seed \(seed), \(text.debugDescription)")
        }
    }
}
