import DefaultsCore
import TestSupport
import Testing

@Suite("Domain file names")
struct DomainFileNameTests {
    static let pairs: [(Domain, String)] = {
        let names = ["org.example.app", "a", "a.plist", "x.damaged-1", "日本語", "\u{301}accent first", "dot.", "ByHost"]
        var pairs: [(Domain, String)] = [
            (Domain(.global), ".GlobalPreferences.plist"),
            (Domain(.global, host: .only("AB-1")), "ByHost/.GlobalPreferences.AB-1.plist"),
        ]
        for name in names.compactMap({ try? DomainName($0) }) {
            pairs.append((Domain(name), "\(name).plist"))
            pairs.append((Domain(name, host: .only("AB-1")), "ByHost/\(name).AB-1.plist"))
        }
        return pairs
    }()

    @Test("A domain and its file name determine each other", arguments: pairs)
    func bothWays(domain: Domain, fileName: String) {
        #expect(Array(domain.fileName.utf8) == Array(fileName.utf8))
        #expect(Domain(fileName: fileName) == domain)
    }

    @Test(
        "A file name that doesn't follow the rules belongs to no domain",
        arguments: [
            "", ".plist", "x", "x.plist~", "x.plist.damaged-1", "x.PLIST", ".hidden.plist", "NSGlobalDomain.plist",
            "Sub/x.plist", "ByHost/x.plist", "ByHost/.AB.plist", "ByHost/x..plist", "ByHost/x.a_b.plist", "ByHost/",
            "ByHost/NSGlobalDomain.AB.plist", ".defaultsd.1.00.00.00.plist", "ByHost.plist/x", "../x.plist",
            "\(String(repeating: "x", count: 201)).plist", "Apple Global Domain.plist",
            "kCFPreferencesAnyApplication.plist",
        ])
    func others(fileName: String) {
        #expect(Domain(fileName: fileName) == nil)
    }

    @Test("Random valid domain names survive conversion to a file name and back")
    func randomNames() throws {
        let seed = UInt64(0xD0_11A1)
        var random = PseudoRandom(seed: seed)
        let scalars: [Unicode.Scalar] = [
            "a", "Z", ".", "-", " ", "é", "\u{301}", "\u{200D}", "🇩", "🇪", "\r", "\n", "日", "*",
        ]
        for _ in 0..<5_000 {
            var text = ""
            for _ in 0...random.below(8) { text.unicodeScalars.append(random.pick(scalars)) }
            guard let name = try? DomainName(text) else { continue }
            let host = random.oneIn(2) ? DomainHost.any : .only("0F-\(random.below(9))")
            let domain = Domain(name, host: host)
            let back = Domain(fileName: domain.fileName)
            #expect(back == domain, "seed \(seed), name \(text.unicodeScalars.map(\.value))")
            #expect(back.map { Array($0.fileName.utf8) } == Array(domain.fileName.utf8))
        }
    }

    @Test("Listing a directory returns the domains of its files and of ByHost, in order")
    func listing() throws {
        try withTemporaryDirectory { path in
            for name in [
                "b.plist", "a.plist", ".GlobalPreferences.plist", "a.txt", ".defaultsd.1.2.3.4", "c.plist.bak",
            ] {
                try RawFile.write("{}", to: "\(path)/\(name)")
            }
            try RawFile.makeDirectory("\(path)/ByHost")
            try RawFile.write("{}", to: "\(path)/ByHost/a.AB.plist")
            let directory = PreferencesDirectory(path: path)
            let names = try directory.domains().map(\.description)
            #expect(names == ["NSGlobalDomain", "a", "a (host AB)", "b"])
            #expect(try PreferencesDirectory(path: path + "/none").domains().isEmpty)
            #expect(throws: DefaultsError.self) { try PreferencesDirectory(path: path + "/a.plist").domains() }
        }
    }
}
