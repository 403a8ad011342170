import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The preferences directory may be missing, go and come back.
@Suite("The directory")
struct DirectoryTests {
    @Test("An agent on no directory ends at once and says why")
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

    @Test("An agent on someone else's directory ends at once and says why", .enabled(if: geteuid() == 0))
    func foreign() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            let outcome = try start(place, [])
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("belongs to the user with the number 65534, not to you"))
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

    @Test("While the directory is gone the last values stay; one that is made again brings the true differences")
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

    @Test("A directory that is moved away and back has lost nothing")
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

    @Test("A directory that takes another's place brings the true differences")
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

    @Test("The usual directory is not made anew where it has held files: they would seem to be removed")
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

    @Test("A write while the directory is gone fails, is kept, and is saved when the directory is back")
    func writeMeanwhile() throws {
        try AgentProcess.withAgent(prepare: Self.fill) { agent in
            try agent.shell("cd ..; mv p q")
            // What is done from now on is done in the knowledge that all is gone.
            try agent.synchronize()
            let outcome = try agent.defaults("write", "a.b", "two", "-int", "3")
            #expect(outcome.status == 74)
            #expect(outcome.errors.contains(agent.place.preferences), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
            #expect(try agent.defaults("read", "a.b", "two").output == "3\n")
            #expect(try agent.status()["pending"] == [["domain": "a.b", "edits": 1]])
            try Programs.shell("mv q p", in: agent.place.preferences + "/..")
            // By itself: nobody asks for it.
            let isSaved = try eventually(within: 60) {
                try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b"))) == ["one": "1", "two": 3]
                    && agent.status()["pending"] == []
            }
            #expect(isSaved)
            #expect(try agent.status()["errors"] == [])
        }
    }
}
