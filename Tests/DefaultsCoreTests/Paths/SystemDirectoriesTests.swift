import Glibc
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("System directories")
struct SystemDirectoriesTests {
    private func find(_ variables: [String: String]) -> SystemDirectories {
        SystemDirectories(environment: Environment(variables))
    }

    @Test(
        "System directories come from DEFAULTS_SYSTEM_DIRECTORIES, or else XDG_CONFIG_DIRS, without relative paths",
        arguments: [
            ([:], ["/etc/xdg", "/usr/local/etc"]),
            (["XDG_CONFIG_DIRS": "/a:relative:/b/:/a"], ["/a", "/b", "/usr/local/etc"]),
            (["XDG_CONFIG_DIRS": ""], ["/etc/xdg", "/usr/local/etc"]),
            (["XDG_CONFIG_DIRS": "/a", "DEFAULTS_SYSTEM_DIRECTORIES": "/c::d:/e"], ["/c", "/e"]),
            (["DEFAULTS_SYSTEM_DIRECTORIES": "none"], []),
        ] as [([String: String], [String])])
    func anyUser(variables: [String: String], expected: [String]) {
        #expect(find(variables).anyUser == expected)
    }

    @Test("An absolute DEFAULTS_MANAGED_DIRECTORY replaces the managed directory")
    func managed() {
        #expect(find([:]).managed == "/etc/defaultsd/managed")
        #expect(find(["DEFAULTS_MANAGED_DIRECTORY": "/m/"]).managed == "/m")
        #expect(find(["DEFAULTS_MANAGED_DIRECTORY": "m"]).managed == nil)
        let same = find(["DEFAULTS_MANAGED_DIRECTORY": "/a", "DEFAULTS_SYSTEM_DIRECTORIES": "/a:/b"])
        #expect(same == SystemDirectories(anyUser: ["/b"], managed: "/a"))
    }

    @Test("A directory with two names is used once, and the user's own directory isn't a system directory")
    func sameDirectory() throws {
        try withTemporaryDirectory { path in
            for name in ["one", "own"] { try RawFile.makeDirectory("\(path)/\(name)") }
            symlink("one", path + "/two")
            symlink("own", path + "/other")
            let system = SystemDirectories(
                anyUser: ["one", "two", "other", "missing"].map { "\(path)/\($0)" }, managed: path + "/own/")
            #expect(system.anyUser == ["\(path)/one", "\(path)/missing"])
            let others = SystemDirectories(anyUser: [path + "/one", path + "/other"], managed: path + "/own")
                .excluding(PreferencesDirectory(path: path + "/own"))
            #expect(others == SystemDirectories(anyUser: [path + "/one"], managed: nil))
        }
    }

    @Test("A path in a system directory maps to the domains that it can hold")
    func domains() throws {
        let system = SystemDirectories(anyUser: ["/etc/xdg", "/etc/xdg/ByHost"], managed: "/m")
        let name = try DomainName("a.b")
        #expect(system.domains(atPath: "/etc/xdg/a.b.plist") == [Domain(name, user: .any(directory: "/etc/xdg"))])
        #expect(system.domains(atPath: "/m/.GlobalPreferences.plist") == [Domain(.global, user: .managed)])
        #expect(
            system.domains(atPath: "/etc/xdg/ByHost/a.b.plist") == [
                Domain(try DomainName("a"), host: .only("b"), user: .any(directory: "/etc/xdg")),
                Domain(name, user: .any(directory: "/etc/xdg/ByHost")),
            ])
        for path in ["/etc/xdg", "/etc/xdgs/a.b.plist", "/etc/xdg/x/a.b.plist", "/m/a.b", "a.b.plist", ""] {
            #expect(system.domains(atPath: path) == [])
        }
    }

    @Test("A domain's description states its user, and the current user's domains sort first")
    func description() throws {
        let name = try DomainName("org.example.editor")
        let domains = [
            Domain(name), Domain(.global, host: .only("H")), Domain(name, user: .any(directory: "/etc/xdg")),
            Domain(name, host: .only("H"), user: .any(directory: "/etc/xdg")), Domain(name, user: .managed),
        ]
        #expect(
            domains.map(\.description) == [
                "org.example.editor", "NSGlobalDomain (host H)", "org.example.editor (any user, /etc/xdg)",
                "org.example.editor (host H, any user, /etc/xdg)", "org.example.editor (managed)",
            ])
        #expect(domains.shuffled().sorted().map(\.user) == domains.map(\.user))
        try domains[1].checkWritable()
        for domain in domains[2...] {
            let error = #expect(throws: DefaultsError.self) { try domain.checkWritable() }
            #expect(error?.code == .readOnly)
        }
    }
}
