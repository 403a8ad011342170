import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A preferences directory that is missing, disappears, or comes back.
@Suite("The preferences directory")
struct DirectoryTests {
    @Test("An agent without a usable directory exits immediately and says why")
    func missing() throws {
        try AgentProcess.withPlace { place in
            let file = place.runtime + "/file"
            try RawFile.write("", to: file)
            for (path, reason) in [(place.runtime + "/missing", "No such file"), (file, "Not a directory")] {
                let outcome = try start(place, ["--directory", path])
                #expect(outcome.status == 69)
                #expect(
                    outcome.errors.hasPrefix("defaultsd: The preferences directory \(path) can't be used: \(reason)"))
                #expect(outcome.errors.split(separator: "\n").count == 1)
            }
        }
    }

    @Test("An agent on another user's directory exits immediately and says why", .enabled(if: geteuid() == 0))
    func foreign() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            let outcome = try start(place, [])
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("belongs to user ID 65534, not to you"))
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    private func start(_ place: AgentProcess.Place, _ arguments: [String]) throws -> Programs.Outcome {
        try Programs.run(Programs.defaultsd, arguments, environment: place.environment)
    }

    private static func fill(_ place: AgentProcess.Place) throws {
        try RawFile.write("{one = 1; two = 2;}", to: place.path("a.b"))
        try RawFile.write("{three = 3;}", to: place.path("c.d"))
        try RawFile.makeDirectory(place.preferences + "/ByHost")
        try RawFile.write("{four = 4;}", to: place.preferences + "/ByHost/a.b.HOST.plist")
    }

    @Test("The last values stay while the directory is gone, and a new one publishes the real differences")
    func removed() throws {
        try AgentProcess.withAgent(prepare: Self.fill) { agent in
            let follower = try agent.follow()
            try follower.expect([]) { try agent.shell("cd ..; rm -r p") }
            #expect(try agent.defaults("domains").output == "a.b, c.d\n")
            #expect(try agent.defaults("read", "a.b", "two").output == "2\n")
            #expect(try agent.defaults("status").output.contains("watching     waiting"))
            let back = try follower.changes {
                try Programs.shell(
                    "mkdir p; echo '{one = 1; five = 5;}' > p/a.b.plist", in: agent.place.preferences + "/..")
            }
            #expect(
                back.sorted() == [
                    "a.b: five ->5, two 2>- (file)", "a.b: four 4>- (file)", "c.d: three 3>- (file)",
                ])
            try follower.expect(["a.b: five 5>6 (file)"]) { try agent.shell("echo '{one = 1; five = 6;}' > a.b.plist") }
            #expect(try agent.defaults("write", "a.b", "six", "6").status == 0)
        }
    }

    @Test("A directory that is moved away and back loses nothing")
    func movedAndBack() throws {
        try AgentProcess.withAgent(prepare: Self.fill) { agent in
            let follower = try agent.follow()
            try follower.expect([]) { try agent.shell("cd ..; mv p q; mv q p") }
            let changes = try follower.changes { try agent.shell("echo '{one = 1; two = 3;}' > a.b.plist") }
            #expect(changes == ["a.b: two 2>3 (file)"])
            #expect(try agent.defaults("write", "a.b", "two", "4").status == 0)
            let edited = try follower.changes()
            #expect(edited == ["a.b: two 3>4 (app)"])
        }
    }

    @Test("A directory that replaces another publishes the real differences")
    func replaced() throws {
        try AgentProcess.withAgent(prepare: Self.fill) { agent in
            let follower = try agent.follow()
            let changes = try follower.changes {
                try agent.shell(
                    "cd ..; cp -r p q; echo '{one = 1; two = 22;}' > q/a.b.plist; rm q/c.d.plist; mv p old; mv q p")
            }
            #expect(changes.sorted() == ["a.b: two 2>22 (file)", "c.d: three 3>- (file)"])
            #expect(try agent.defaults("write", "c.d", "new", "n").status == 0)
            #expect(RawFile.exists(agent.place.path("c.d")))
            #expect(!RawFile.exists(agent.place.preferences + "/../old/new.plist"))
        }
    }

    @Test("The default directory is not recreated after it held files, which would then seem removed")
    func usualDirectoryGone() throws {
        try AgentProcess.withPlace { place in
            let usual = AgentProcess.Place(preferences: place.preferences, runtime: place.runtime, isExplicit: false)
            try Self.fill(usual)
            let agent = try AgentProcess(usual)
            defer { agent.kill() }
            try agent.shell("cd ..; mv p q")
            try agent.synchronize()
            #expect(try agent.defaults("write", "e.f", "new", "1").status == 74)
            #expect(!RawFile.exists(place.preferences))
            #expect(try agent.defaults("read", "a.b", "two").output == "2\n")
            let errors = try agent.defaults("status").output
            #expect(errors.contains("is gone or can't be read"), "\(errors)")
            try Programs.shell("mv q p", in: place.runtime + "/..")
            let isSaved = try eventually(within: 60) { try agent.status()["pending"] == [] }
            #expect(isSaved)
            #expect(try agent.defaults("domains").output == "a.b, c.d, e.f\n")
        }
    }

    @Test(
        "A directory removed with its files is created again for the next edit, and claimed again",
        arguments: [true, false])
    func recreated(isExplicit: Bool) throws {
        try AgentProcess.withPlace { place in
            let place = AgentProcess.Place(
                preferences: place.preferences, runtime: place.runtime, isExplicit: isExplicit)
            try Self.fill(place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try agent.shell("cd ..; rm -r p")
            try agent.synchronize()
            let outcome = try agent.defaults("write", "e.f", "new", "1")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("e.f"))) == ["new": "1"])
            let isSettled = try eventually {
                try agent.defaults("domains").output == "e.f\n"
                    && RawFile.exists("\(place.preferences)/\(AgentClaim.fileName)")
            }
            #expect(isSettled)
            #expect(try agent.status()["errors"] == [])
            #expect(try agent.status()["pending"] == [])
        }
    }

    @Test("A file system mounted over the directory is used in its place and doesn't harm the hidden files")
    func mountedOver() throws {
        try AgentProcess.withAgent(prepare: Self.fill) { agent in
            let mount = try agent.shell("mount -t tmpfs none \(agent.place.preferences)")
            // The test may not be permitted to mount.
            guard mount.status == 0 else { return }
            defer { umount2(agent.place.preferences, Int32(MNT_DETACH)) }
            try agent.synchronize()
            #expect(try agent.defaults("domains").output == "")
            #expect(try agent.defaults("write", "a.b", "one", "11").status == 0)
            #expect(try agent.defaults("read", "a.b").output.contains("one = 11"))
            #expect(agent.place.files == ["a.b.plist"])

            try agent.shell("cd ..; umount -l p")
            try agent.synchronize()
            #expect(try agent.defaults("domains").output == "a.b, c.d\n")
            #expect(try agent.defaults("read", "a.b", "one").output == "1\n")
            #expect(try agent.defaults("read", "c.d", "three").output == "3\n")
            #expect(try agent.defaults("write", "c.d", "three", "4").status == 0)
            #expect(try agent.status()["errors"] == [])
        }
    }

    @Test(
        "An unreadable directory keeps its last values and edits, is reported once, and is read once it can be",
        .enabled(if: AgentProcess.hasNobody), arguments: ["p", "p/ByHost"])
    func unreadable(name: String) throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            try Self.fill(place)
            for path in ["p", "p/ByHost"] { chown("\(place.root)/\(path)", 65_534, 65_534) }
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            let path = "\(place.root)/\(name)"
            chmod(path, 0)
            // From here on, the agent knows of the change.
            try agent.defaults("sync")
            let isTold = try eventually { try agent.defaults("status").output.contains("\(path) ") }
            #expect(isTold)
            #expect(try agent.defaults("domains").output == "a.b, c.d\n")
            #expect(try agent.defaults("read", "a.b", "two").output == "2\n")
            let host = try agent.defaults("-host", "HOST", "read", "a.b", "four")
            #expect(host.output == "4\n", "\(host)")
            let outcome = try agent.defaults("-host", "HOST", "write", "a.b", "four", "5")
            #expect(outcome.status == 74 && outcome.errors.contains("Permission denied"), "\(outcome)")
            for _ in 0..<2 { #expect(try agent.defaults("sync").status == 74) }
            #expect(try agent.defaults("-host", "HOST", "read", "a.b", "four").output == "5\n")

            chmod(path, 0o755)
            let isSaved = try eventually(within: 60) {
                let text = try agent.defaults("status").output
                return text.contains("errors       none") && text.contains("pending      none")
            }
            #expect(isSaved)
            let values = try PropertyListValue(parsing: RawFile.read(place.preferences + "/ByHost/a.b.HOST.plist"))
            #expect(values == ["four": "5"])
            #expect(try agent.defaults("domains").output == "a.b, c.d\n")
            agent.terminate()
            let lines = agent.complaints().split(separator: "\n")
            #expect(lines.count { $0.contains(" warning ") && $0.contains("The directory \(path) ") } == 1, "\(lines)")
            #expect(lines.count { $0.contains("The directory can be read again") } == 1, "\(lines)")
        }
    }

    @Test("A write while the directory is gone fails, is kept, and is saved when the directory is back")
    func writeMeanwhile() throws {
        try AgentProcess.withAgent(prepare: Self.fill) { agent in
            try agent.shell("cd ..; mv p q")
            // From here on, the agent knows that the directory is gone.
            try agent.synchronize()
            let outcome = try agent.defaults("write", "a.b", "two", "-int", "3")
            #expect(outcome.status == 74)
            #expect(outcome.errors.contains(agent.place.preferences), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(try agent.defaults("read", "a.b", "two").output == "3\n")
            #expect(try agent.status()["pending"] == [["domain": "a.b", "edits": 1]])
            try Programs.shell("mv q p", in: agent.place.preferences + "/..")
            // The agent saves by itself, without a request.
            let isSaved = try eventually(within: 60) {
                try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b"))) == ["one": "1", "two": 3]
                    && agent.status()["pending"] == []
            }
            #expect(isSaved)
            #expect(try agent.status()["errors"] == [])
        }
    }
}
