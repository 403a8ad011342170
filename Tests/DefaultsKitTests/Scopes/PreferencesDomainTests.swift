import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("A domain by itself")
struct PreferencesDomainTests {
    @Test("read and change another host's values where no agent runs")
    func otherHost() throws {
        try ScratchPlace.with { place in
            let host = "11111111-2222-3333-4444-555555555555"
            let path = place.preferences + "/ByHost/org.example.app.\(host).plist"
            try place.write(["a": 1], to: path)
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: live))
            let domain = try PreferencesDomain("org.example.app", host: .identifier(host))
            #expect(domain.propertyListValue(forKey: "a", in: defaults) == 1)
            domain.set(nil, forKey: "a", in: defaults)
            #expect(defaults.synchronize())
            #expect(!RawFile.exists(path))
        }
    }

    @Test("has values of its own for any host, this one and another")
    func hosts() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            let other = "11111111-2222-3333-4444-555555555555"
            let domains = [
                try PreferencesDomain("app"), try PreferencesDomain("app", host: .current),
                try PreferencesDomain("app", host: .identifier(other)),
            ]
            for (index, domain) in domains.enumerated() {
                domain.set(["key": .integer(Int64(index)), "only \(index)": true], in: defaults)
            }
            for (index, domain) in domains.enumerated() {
                #expect(domain.propertyListValue(forKey: "key", in: defaults) == .integer(Int64(index)))
                #expect(domain.keys(in: defaults) == ["key", "only \(index)"])
            }
            #expect(defaults.integer(forKey: "key") == 1)
            #expect(defaults.synchronize())
            #expect(RawFile.exists("\(place.preferences)/ByHost/app.\(other).plist"))
            let everywhere = try PreferencesDomain.all(in: defaults)
            #expect(everywhere == [domains[0]])
            let there = try PreferencesDomain.all(host: .identifier(other), in: defaults)
            #expect(there == [domains[2]])
            domains[1].set(nil, forKey: "key", in: defaults)
            #expect(defaults.integer(forKey: "key") == 0)
            #expect(domains[1].keys(in: defaults) == ["only 1"])
        }
    }

    @Test("of every user can be read and listed, and not be set")
    func readOnly() throws {
        try ScratchPlace.with { place in
            let path = "\(place.system)/app.plist"
            try place.write(["key": "system"], to: path)
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            let domain = try PreferencesDomain("app", user: .any(directory: place.system))
            let managed = try PreferencesDomain("app", user: .managed)
            #expect(domain.propertyListValue(forKey: "key", in: defaults) == "system")
            domain.set("mine", forKey: "key", in: defaults)
            managed.set("mine", forKey: "key", in: defaults)
            #expect(defaults.string(forKey: "key") == "system")
            #expect(domain.values(in: defaults) == ["key": "system"])
            #expect(managed.keys(in: defaults) == [])
            #expect(defaults.synchronize())
            let stored = try place.read(path)
            #expect(stored == ["key": "system"])
            let listed = try PreferencesDomain.all(user: .any(directory: place.system), in: defaults)
            #expect(listed == [domain])
            let none = try PreferencesDomain.all(in: defaults)
            #expect(none == [])
        }
    }

    @Test("that is managed is forced", .enabled(if: geteuid() == 0))
    func managed() throws {
        try ScratchPlace.with { place in
            try place.write(["key": "forced"], to: "\(place.managed)/app.plist")
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            #expect(defaults.objectIsForced(forKey: "key"))
            #expect(defaults.objectIsForced(forKey: "key", inDomain: "app"))
            #expect(defaults.objectIsForced(forKey: "other") == false)
            #expect(defaults.objectIsForced(forKey: "key", inDomain: "other") == false)
            defaults.set("mine", forKey: "key")
            #expect(defaults.string(forKey: "key") == "forced")
            let managed = try PreferencesDomain("app", user: .managed)
            #expect(managed.values(in: defaults) == ["key": "forced"])
            let listed = try PreferencesDomain.all(user: .managed, in: defaults)
            #expect(listed == [managed])
        }
    }

    @Test("is listed in memory as well")
    func inMemory() throws {
        let defaults = UserDefaults(inMemory: ["a": 1])
        let global = try PreferencesDomain(UserDefaults.globalDomain)
        global.set(1, forKey: "b", in: defaults)
        let own = try PreferencesDomain(UserDefaults.applicationIdentifier)
        let listed = try PreferencesDomain.all(in: defaults)
        #expect(Set(listed) == [own, global])
    }

    @Test(
        "has a name that isn't a path, or a domain of the process alone",
        arguments: ["/a", "/", "NSArgumentDomain", "NSRegistrationDomain"])
    func names(name: String) {
        #expect(throws: DefaultsProblem.self) { try PreferencesDomain(name) }
    }

    @Test("tells what it is")
    func properties() throws {
        let domain = try PreferencesDomain("app", user: .any(directory: "/etc/xdg"), host: .identifier("A-B"))
        #expect(domain.name == "app")
        #expect(domain.user == .any(directory: "/etc/xdg"))
        #expect(domain.host == "A-B")
        #expect("\(domain)" == "app (host A-B, any user, /etc/xdg)")
    }
}
