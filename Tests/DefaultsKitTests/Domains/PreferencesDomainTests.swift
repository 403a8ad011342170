import DefaultsClient
import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("Access to individual domains")
struct PreferencesDomainTests {
    @Test("A value of another host's domain can be read and removed without an agent")
    func otherHost() throws {
        try ScratchPlace.with { place in
            let host = "11111111-2222-3333-4444-555555555555"
            let path = place.preferences + "/ByHost/org.example.app.\(host).plist"
            try place.write(["a": 1], to: path)
            let client = try place.client()
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
            let domain = try defaults.domain("org.example.app", host: .identifier(host))
            #expect(domain.propertyListValue(forKey: "a") == 1)
            domain.set(nil, forKey: "a")
            #expect(defaults.synchronize())
            #expect(!RawFile.exists(path))
        }
    }

    @Test("A domain has separate values for any host, for this host and for another host")
    func hosts() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            let other = "11111111-2222-3333-4444-555555555555"
            let domains = [
                try defaults.domain("app"), try defaults.domain("app", host: .current),
                try defaults.domain("app", host: .identifier(other)),
            ]
            for (index, domain) in domains.enumerated() {
                domain.set(["key": .integer(Int64(index)), "only \(index)": true])
            }
            for (index, domain) in domains.enumerated() {
                #expect(domain.propertyListValue(forKey: "key") == .integer(Int64(index)))
                #expect(domain.values.keys.sorted() == ["key", "only \(index)"])
            }
            #expect(defaults.integer(forKey: "key") == 1)
            #expect(defaults.synchronize())
            #expect(RawFile.exists("\(place.preferences)/ByHost/app.\(other).plist"))
            let everywhere = try defaults.domains()
            #expect(everywhere == [domains[0]])
            let there = try defaults.domains(host: .identifier(other))
            #expect(there == [domains[2]])
            domains[1].set(nil, forKey: "key")
            #expect(defaults.integer(forKey: "key") == 0)
            #expect(domains[1].values.keys.sorted() == ["only 1"])
        }
    }

    @Test("A domain for any user can be read and listed but not changed")
    func readOnly() throws {
        try ScratchPlace.with { place in
            let path = "\(place.system)/app.plist"
            try place.write(["key": "system"], to: path)
            let client = try place.client()
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            let domain = try defaults.domain("app", user: .any(directory: place.system))
            let managed = try defaults.domain("app", user: .managed)
            #expect(domain.propertyListValue(forKey: "key") == "system")
            domain.set("mine", forKey: "key")
            managed.set("mine", forKey: "key")
            #expect(defaults.string(forKey: "key") == "system")
            #expect(domain.values == ["key": "system"])
            #expect(managed.values.isEmpty)
            #expect(defaults.synchronize())
            let stored = try place.read(path)
            #expect(stored == ["key": "system"])
            let listed = try defaults.domains(user: .any(directory: place.system))
            #expect(listed == [domain])
            let none = try defaults.domains()
            #expect(none == [])
        }
    }

    @Test("A managed domain's values are forced", .enabled(if: geteuid() == 0))
    func managed() throws {
        try ScratchPlace.with { place in
            for name in ["app", "a%2Fb", ".GlobalPreferences"] {
                try place.write(["key": "forced"], to: "\(place.managed)/\(name).plist")
            }
            let client = try place.client()
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(defaults.objectIsForced(forKey: "key"))
            #expect(defaults.objectIsForced(forKey: "key", inDomain: "app"))
            #expect(defaults.objectIsForced(forKey: "other") == false)
            #expect(defaults.objectIsForced(forKey: "key", inDomain: "other") == false)
            defaults.set("mine", forKey: "key")
            #expect(defaults.string(forKey: "key") == "forced")
            let managed = try defaults.domain("app", user: .managed)
            #expect(managed.values == ["key": "forced"])
            let listed = try defaults.domains(user: .managed)
            #expect(listed.map(\.name) == ["NSGlobalDomain", "a%2Fb", "app"] && listed.contains(managed))
            // Any text names the same domain as in `UserDefaults(suiteName:)`.
            for name in ["a/b", "a%2Fb", "NSGlobalDomain", "Apple Global Domain"] {
                #expect(defaults.objectIsForced(forKey: "key", inDomain: name), "\(name)")
            }
        }
    }

    @Test("Domains in memory are listed like others")
    func inMemory() throws {
        let defaults = UserDefaults(inMemory: ["a": 1])
        let global = try defaults.domain(UserDefaults.globalDomain)
        global.set(1, forKey: "b")
        let own = try defaults.domain(UserDefaults.applicationIdentifier)
        let listed = try defaults.domains()
        #expect(Set(listed) == [own, global])
    }

    @Test(
        "A path or the name of a volatile domain is rejected as a domain's name",
        arguments: ["/a", "/", "NSArgumentDomain", "NSRegistrationDomain"])
    func names(name: String) {
        let defaults = UserDefaults(inMemory: [:])
        #expect(throws: DefaultsProblem.self) { try defaults.domain(name) }
    }

    @Test("A domain's properties and description match its arguments")
    func properties() throws {
        let defaults = UserDefaults(inMemory: [:])
        let domain = try defaults.domain("app", user: .any(directory: "/etc/xdg"), host: .identifier("A-B"))
        #expect(domain.name == "app")
        #expect(domain.user == .any(directory: "/etc/xdg"))
        #expect(domain.host == "A-B")
        #expect("\(domain)" == "app (host A-B, any user, /etc/xdg)")
    }
}
