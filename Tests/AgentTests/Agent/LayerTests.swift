import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Preferences for all users of the system, and preferences that its administrator forces.
@Suite("The system's layers")
struct LayerTests {
    /// Creates the system's directories, which don't exist by default.
    @Sendable private static func makeDirectories(_ place: AgentProcess.Place) throws {
        try RawFile.makeDirectory(place.system)
        try RawFile.makeDirectory(place.managed)
    }

    private static func domain(_ name: String, _ user: DomainUser) throws -> Domain {
        Domain(try DomainName(name), user: user)
    }

    /// Returns each event as text, with the user of its domain.
    private static func texts(_ events: [StreamEvent]) -> [String] {
        events.map { event in
            guard case .record(let record, _) = event else { return Follower.text(event) }
            let user =
                switch record.domain.user {
                case .current: "current"
                case .any: "any"
                case .managed: "managed"
                }
            return "\(user) \(Follower.text(event))"
        }
    }

    @Test(
        "`defaults tail` shows changes in the system and managed directories, and names the layer",
        .enabled(if: geteuid() == 0))
    func tail() throws {
        try AgentProcess.withAgent(prepare: Self.makeDirectories) { agent in
            let tail = try agent.start("tail", "--json")
            let text = try agent.start("tail", "--color", "never")
            _ = try tail.objects(upTo: "bookmark")
            let isFollowed = try eventually {
                let status = try agent.status()
                return try Fields(status).array("subscribers").count == 2
            }
            #expect(isFollowed)
            try RawFile.write("{size = 1;}", to: agent.place.system + "/a.b.plist")
            let ofSystem = try tail.object()
            #expect(
                ofSystem.keys.sorted() == ["changes", "cursor", "domain", "host", "source", "time", "type", "user"])
            #expect(ofSystem["domain"] as? String == "a.b" && ofSystem["user"] as? String == agent.place.system)
            let line = text.line()
            #expect(line?.hasSuffix(" a.b (any user, \(agent.place.system)) size  (none) → \"1\"  (file)") == true)

            try RawFile.write("{size = 2;}", to: agent.place.managed + "/a.b.plist")
            let forced = try tail.object()
            #expect(forced["domain"] as? String == "a.b" && forced["user"] as? String == "managed")
            #expect(text.line()?.hasSuffix(" a.b (managed) size  (none) → \"2\"  (file)") == true)

            try RawFile.write("{size = 3;}", to: agent.place.path("a.b"))
            let own = try tail.object()
            #expect(own["domain"] as? String == "a.b" && own["user"] == nil)
            #expect(text.line()?.hasSuffix(" a.b size  (none) → \"3\"  (file)") == true)

            unlink(agent.place.managed + "/a.b.plist")
            let removed = try tail.object()
            #expect(removed["user"] as? String == "managed")
            #expect(text.line()?.hasSuffix(" a.b (managed) size  \"2\" → (none)  (file)") == true)
        }
    }

    @Test("System directories that are created or removed while the agent runs are noticed")
    func madeLater() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            let made = try follower.events {
                try RawFile.makeDirectory(agent.place.system)
                try RawFile.makeDirectory(agent.place.system + "/ByHost")
                try RawFile.write("{size = 1;}", to: agent.place.system + "/ByHost/a.b.HOST.plist")
            }
            #expect(Self.texts(made) == ["any a.b: size ->1 (file)"])
            let changed = try follower.events {
                try RawFile.write("{size = 2;}", to: agent.place.system + "/ByHost/a.b.HOST.plist")
            }
            #expect(Self.texts(changed) == ["any a.b: size 1>2 (file)"])
            let removed = try follower.events { removeTree(agent.place.system) }
            #expect(Self.texts(removed) == ["any a.b: size 2>- (file)"])
            #expect(try agent.status()["errors"] == [])
        }
    }

    @Test("The agent reports which system directories it watches, and how")
    func status() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.makeDirectory($0.system) }) { agent in
            let expected = SystemDirectories(anyUser: [agent.place.system], managed: agent.place.managed)
            #expect(try agent.connect().welcome.system == expected)
            #expect(try Fields(agent.status()).systemDirectories() == expected)
            let text = try agent.defaults("status").output
            #expect(text.contains("system       \(agent.place.system) (inotify)\n"))
            #expect(text.contains("managed      \(agent.place.managed) (waiting: the directory doesn't exist)\n"))
        }
    }

    @Test(
        "Each layer has the same values with and without an agent, and `domains` lists only the user's own",
        .enabled(if: geteuid() == 0), arguments: [true, false])
    func read(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            try Self.makeDirectories(place)
            for (number, path) in [place.preferences, place.system, place.managed].enumerated() {
                try RawFile.write("{size = \(number);}", to: path + "/a.b.plist")
            }
            try RawFile.write("{size = 3;}", to: place.system + "/c.d.plist")
            let system = SystemDirectories(environment: Environment(place.environment))
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let backend: any Backend =
                try agent?.connect() ?? EmbeddedStore(PreferencesDirectory(path: place.preferences), system: system)
            let users: [DomainUser] = [.current, .any(directory: place.system), .managed]
            for (number, user) in users.enumerated() {
                #expect(try backend.snapshot(of: Self.domain("a.b", user)).values == ["size": .string("\(number)")])
            }
            let unknown = try Self.domain("a.b", .any(directory: place.runtime))
            #expect(try backend.snapshot(of: unknown).values == [:])
            #expect(try backend.domains() == [Self.domain("a.b", .current)])
            let outcome = try Programs.run(Programs.defaults, ["domains"], environment: place.environment)
            #expect(!hasAgent || outcome.output == "a.b\n")

            for user in users[1...] {
                let domain = try Self.domain("a.b", user)
                let error = #expect(throws: DefaultsError.self) {
                    try backend.edit(domain, with: ["size": 9], replacesAll: false)
                }
                #expect(error?.code == .readOnly)
                #expect(error?.description.hasPrefix("\(domain) is read-only") == true)
                try backend.synchronize(domain)
            }
            // The refused edits have changed nothing.
            try backend.edit(Self.domain("a.b", .current), with: ["size": 9], replacesAll: false)
            try backend.synchronize(Self.domain("a.b", .current))
            #expect(try backend.snapshot(of: Self.domain("a.b", .managed)).values == ["size": "2"])
            #expect(try RawFile.read(place.managed + "/a.b.plist") == Array("{size = 2;}".utf8))
            #expect(namesOfFiles(in: place.system) == ["a.b.plist", "c.d.plist"])
        }
    }

    @Test(
        "An edit of keys that the administrator forces is saved, and the command says that apps don't see it",
        .enabled(if: geteuid() == 0), arguments: [true, false])
    func forced(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            try Self.makeDirectories(place)
            let managed = place.managed + "/a.b.plist"
            try RawFile.write("{size = 9; mode = x;}", to: managed)
            try RawFile.write("{name = x;}", to: place.managed + "/.GlobalPreferences.plist")
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            func run(_ words: String...) throws -> String {
                let outcome = try Programs.run(Programs.defaults, words, environment: environment)
                #expect(outcome.status == 0)
                return outcome.errors
            }
            let end = "so apps don't see this change.\n"
            #expect(try run("write", "a.b", "other", "1") == "")
            #expect(try run("write", "a.b", "size", "1") == "defaults: \(managed) forces \"size\", \(end)")
            #expect(
                try run("write", "a.b", "{size = 2; mode = y; other = z;}")
                    == "defaults: \(managed) forces \"mode\", \"size\", \(end)")
            #expect(try run("delete", "a.b", "mode") == "defaults: \(managed) forces \"mode\", \(end)")
            #expect(try run("write", "a.b", "name", "y").hasSuffix("/.GlobalPreferences.plist forces \"name\", \(end)"))
            #expect(try run("write", place.root + "/x", "size", "1") == "")
            let values = try PropertyListValue(parsing: RawFile.read(place.path("a.b")))
            #expect(values == ["size": "2", "other": "z", "name": "y"])
            try RawFile.write("{k = v;}", to: place.managed + "/c.d.plist")
            let missing = try Programs.run(Programs.defaults, ["read", "c.d"], environment: environment)
            let hint = "There are only values for all users. To see them, run `defaults read --effective c.d`."
            #expect(missing.status == 1)
            #expect(missing.errors == "defaults: The domain c.d does not exist. \(hint)\n")
            guard let agent else { return }
            #expect(try agent.defaults("status").output.contains("\nforced       a.b: \"mode\", \"size\"\n"))
            let undone = try agent.defaults("undo", "a.b", "name")
            #expect(undone.errors.hasSuffix("/.GlobalPreferences.plist forces \"name\", \(end)"))
        }
    }

    /// A way to let others than root write a managed file, and the command that undoes it.
    struct Distrust: CustomTestStringConvertible {
        let spoil: String
        let repair: String
        var testDescription: String { spoil }
    }

    @Test(
        "A managed file that others can write is ignored, reported with a remedy, and read after the remedy",
        .enabled(if: geteuid() == 0),
        arguments: [
            Distrust(spoil: "chown 65534 FILE", repair: "chown root FILE"),
            Distrust(spoil: "chmod g+w FILE", repair: "chmod go-w FILE"),
            Distrust(spoil: "chown 65534 DIRECTORY", repair: "chown root DIRECTORY"),
            Distrust(spoil: "chmod o+w DIRECTORY", repair: "chmod go-w DIRECTORY"),
        ])
    func distrusted(distrust: Distrust) throws {
        try AgentProcess.withAgent(prepare: Self.makeDirectories) { agent in
            let path = agent.place.managed + "/a.b.plist"
            func run(_ script: String) throws -> String {
                let script = script.replacingOccurrences(of: "FILE", with: path)
                    .replacingOccurrences(of: "DIRECTORY", with: agent.place.managed)
                try Programs.shell(script, in: "/")
                return script
            }
            let follower = try agent.follow()
            let made = try follower.events { try RawFile.write("{size = 1;}", to: path) }
            #expect(Self.texts(made) == ["managed a.b: size ->1 (file)"])

            let spoiled = try follower.events { _ = try run(distrust.spoil) }
            #expect(Self.texts(spoiled) == ["managed a.b: size 1>- (file)", "managed a.b: damaged"])
            let more = try follower.events { agent.signal(SIGHUP) }
            #expect(more.isEmpty)
            let domain = try Self.domain("a.b", .managed)
            #expect(try agent.connect().snapshot(of: domain).values == [:])
            let reason = try #require(try agent.connect().snapshot(of: domain).damage)
            let status = try agent.defaults("status").output
            #expect(status.contains("errors       a.b (managed): \(reason)\n"), "\(status)")
            let shown = try agent.defaults("tail", "--since", "\(follower.cursor.epoch):0", "--timeout", "0.2").output
            #expect(shown.contains("a.b (managed) damaged: \(reason)\n"), "\(shown)")

            let repaired = try follower.events {
                let remedy = try run(distrust.repair)
                #expect(reason.hasPrefix("\(path) is ignored") && reason.hasSuffix("`\(remedy)`."), "\(reason)")
            }
            #expect(Self.texts(repaired) == ["managed a.b: size ->1 (file)", "managed a.b: recovered"])
            #expect(try agent.status()["errors"] == [])
        }
    }

    @Test("A damaged managed file is reported, and its last good values stay", .enabled(if: geteuid() == 0))
    func damaged() throws {
        try AgentProcess.withAgent(prepare: Self.makeDirectories) { agent in
            let follower = try agent.follow()
            let path = agent.place.managed + "/a.b.plist"
            _ = try follower.events { try RawFile.write("{size = 1;}", to: path) }
            let reasons = try follower.damages { try RawFile.write("{size = ", to: path) }
            #expect(reasons.count == 1 && reasons.first?.hasPrefix(path) == true)
            #expect(try agent.connect().snapshot(of: Self.domain("a.b", .managed)).values == ["size": "1"])
        }
    }

    @Test("The agent reads its own settings only from the current user's preferences")
    func settings() throws {
        let settings = "{MaximumConnections = 1; NoSuchSetting = 1;}"
        try AgentProcess.withAgent(prepare: { place in
            try Self.makeDirectories(place)
            try RawFile.write(settings, to: place.system + "/org.defaultsd.agent.plist")
        }) { agent in
            let follower = try agent.follow()
            let events = try follower.events {
                try RawFile.write(settings + "\n", to: agent.place.system + "/org.defaultsd.agent.plist")
                try RawFile.write(settings, to: agent.place.managed + "/org.defaultsd.agent.plist")
            }
            // The first write changed no value. The second is loaded, or reported as not owned by root.
            #expect(events.count == 1)
            let connections = try (0..<3).map { _ in try agent.connect() }
            let domains = try connections.map { try $0.domains().count }
            #expect(domains == [0, 0, 0])
            #expect(!agent.complaints().contains("NoSuchSetting"))
        }
    }

    @Test(
        "Read-only system directories are watched, and an unreadable one is reported and keeps its values",
        .enabled(if: AgentProcess.hasNobody))
    func onlyReadable() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            try Self.makeDirectories(place)
            try RawFile.write("{size = 1;}", to: place.system + "/a.b.plist")
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            let status = try agent.defaults("status").output
            #expect(status.contains("system       \(place.system) (inotify)\n"))
            #expect(status.contains("managed      \(place.managed) (inotify)\n"))

            // Another user's agent refuses root, so all commands run as the agent's user.
            func expect(shown text: String) throws {
                let isShown = try eventually {
                    try agent.defaults("tail", "--initial", "--timeout", "0.1", "--color", "never").output
                        .contains(text)
                }
                #expect(isShown, "\(text)")
            }
            try RawFile.write("{size = 2;}", to: place.system + "/a.b.plist")
            try RawFile.write("{size = 3;}", to: place.managed + "/a.b.plist")
            try expect(shown: "a.b (any user, \(place.system)) size  \"2\"")
            try expect(shown: "a.b (managed) size  \"3\"")

            #expect(chmod(place.system, 0o700) == 0)
            let problem = "errors       The directory \(place.system) is gone or can't be read"
            let isTold = try eventually { try agent.defaults("status").output.contains(problem) }
            #expect(isTold)
            // A save of another domain leaves the values as they are.
            #expect(try agent.defaults("write", "c.d", "k", "v").status == 0)
            try expect(shown: "a.b (any user, \(place.system)) size  \"2\"")
            try RawFile.write("{size = 4;}", to: place.system + "/a.b.plist")
            #expect(chmod(place.system, 0o755) == 0)
            try expect(shown: "a.b (any user, \(place.system)) size  \"4\"")
            #expect(try agent.defaults("status").output.contains("errors       none"))
        }
    }
}
