import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A domain's file that is a symbolic link to a file elsewhere, for example to settings kept in a repository.
@Suite("Linked files")
struct LinkedFileTests {
    private static let old = #"<plist version="1.0"><dict><key>size</key><integer>12</integer></dict></plist>"#
    private static let new = #"<plist version="1.0"><dict><key>size</key><integer>13</integer></dict></plist>"#

    private func withLink(_ body: (AgentProcess, _ target: String) throws -> Void) throws {
        try AgentProcess.withAgent(prepare: { place in
            try RawFile.makeDirectory(place.preferences + "/../elsewhere")
            try RawFile.write(Self.old, to: place.preferences + "/../elsewhere/real")
            symlink("../elsewhere/real", place.path("a.b"))
        }) { agent in
            try body(agent, agent.place.preferences + "/../elsewhere/real")
        }
    }

    private func values(_ path: String) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(path))
    }

    @Test(
        "A change to a link's target is reported like any other, and edits are saved to the target",
        arguments: ["cat new > real", "mv new real"])
    func change(script: String) throws {
        try withLink { agent, target in
            let follower = try agent.follow()
            try RawFile.write(Self.new, to: agent.place.preferences + "/../elsewhere/new")
            let changes = try follower.changes { try agent.shell("cd ../elsewhere; \(script)") }
            #expect(changes == ["a.b: size 12>13 (file)"])
            let edits = try follower.changes { _ = try agent.defaults("write", "a.b", "color", "red") }
            #expect(edits == ["a.b: color ->red (app)"])
            #expect(try values(target) == ["size": 13, "color": "red"])
            #expect(try RawFile.status(agent.place.path("a.b")).st_mode & S_IFMT == S_IFLNK)
        }
    }

    @Test("While a link's target is missing, the last good values stay and edits remain pending")
    func unmounted() throws {
        try withLink { agent, target in
            let follower = try agent.follow()
            let reasons = try follower.damages { try agent.shell("mv ../elsewhere ../away") }
            #expect(reasons.count == 1 && reasons.first?.contains("is a link to ") == true, "\(reasons)")
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 74)
            #expect(!RawFile.exists(target))

            try agent.shell("mv ../away ../elsewhere")
            #expect(try agent.defaults("sync").status == 0)
            #expect(try values(target) == ["size": 12, "color": "red"])
            #expect(try agent.status()["errors"] == [])
        }
    }

    @Test(
        "A save never creates the missing target of a link, not even of a link that is new", arguments: [true, false])
    func atOnce(isKnown: Bool) throws {
        try withLink { agent, target in
            if !isKnown { try agent.shell("rm a.b.plist ../elsewhere/real"); _ = try agent.defaults("sync") }
            try agent.shell("mv ../elsewhere ../away; ln -sf ../elsewhere/real a.b.plist")
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 74)
            #expect(!RawFile.exists(target + "/.."))
            try agent.shell("mv ../away ../elsewhere; [ -e a.b.plist ] || echo '{}' > ../elsewhere/real")
            #expect(try agent.defaults("sync").status == 0)
            #expect(try values(target) == (isKnown ? ["size": 12, "color": "red"] : ["color": "red"]))
        }
    }

    @Test("A ByHost link without a target is reported, and its values are neither dropped nor removed")
    func hosts() throws {
        try AgentProcess.withAgent { agent in
            _ = try agent.defaults("-currentHost", "write", "a.b", "size", "-int", "12")
            try agent.shell("mv ByHost ../hosts; ln -s ../hosts ByHost")
            _ = try agent.defaults("sync")
            let follower = try agent.follow()
            try agent.shell("mv ../hosts ../away")
            try follower.expect([]) { _ = try agent.defaults("sync") }
            #expect(try agent.defaults("-currentHost", "read", "a.b", "size").output == "12\n")
            #expect(try agent.defaults("status").output.contains("ByHost is gone or can't be read"))
            let changes = try follower.changes {
                try agent.shell("mv ../away ../hosts; for f in ByHost/*; do echo '{ size = 13; }' > $f; done")
            }
            #expect(changes.count == 1, "\(changes)")
            // While the link has no target, a removal stays pending.
            try agent.shell("mv ../hosts ../away")
            let outcome = try agent.defaults("-currentHost", "delete", "a.b", "size")
            #expect(outcome.status == 74)
            #expect(outcome.errors.contains("ByHost is gone or can't be read"), "\(outcome.errors)")
            try agent.shell("mv ../away ../hosts")
            #expect(try agent.defaults("sync").status == 0)
            #expect(try agent.shell("ls ByHost/").output == "")
        }
    }

    @Test("A linked file that was inaccessible for a while is watched again", .enabled(if: AgentProcess.hasNobody))
    func unsearchable() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write(Self.old, to: place.preferences + "/../real")
            symlink("../real", place.path("a.b"))
            try place.giveToNobody()
            chmod(place.preferences + "/../real", 0o644)
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            for mode in ["600", "700"] {
                try agent.shell("chmod \(mode) .")
                _ = try agent.defaults("sync")
            }
            try RawFile.write(Self.new, to: place.preferences + "/../real")
            #expect(try agent.defaults("sync").status == 0)
            #expect(try agent.defaults("read", "a.b", "size").output == "13\n")
        }
    }

    @Test(
        "`--force` saves the last good values of a damaged linked file together with the edit",
        arguments: [["write", "--force", "a.b", "color", "red"], ["import", "--force", "a.b", "-"]])
    func forced(_ arguments: [String]) throws {
        try withLink { agent, target in
            // XML can't hold the last character.
            for value in ["blue", "bl\u{7}e"] {
                try agent.defaults("write", "a.b", "other", "-string", value)
                try RawFile.write("{", to: target)
                _ = try agent.defaults("sync")
                let follower = try agent.follow()
                let refusal = try agent.defaults("write", "a.b", "color", "red")
                #expect(refusal.status == 65 && refusal.errors.contains("--force"), "\(refusal.errors)")
                let changes = try follower.changes {
                    let outcome = try Programs.run(
                        Programs.defaults, arguments, environment: agent.place.environment, input: "{color = red;}")
                    #expect(outcome.status == 0, "\(outcome.errors)")
                }
                #expect(changes == ["a.b: recovered", "a.b: color ->red (app)"])
                #expect(try values(target) == ["size": 12, "other": .string(value), "color": "red"])
                #expect(try RawFile.status(agent.place.path("a.b")).st_mode & S_IFMT == S_IFLNK)
                try agent.defaults("delete", "a.b", "color")
            }
            #expect(try RawFile.read(target + ".damaged-1") == Array("{".utf8))
        }
    }

    @Test("A linked file that loses its last key stays, empty, so that the link doesn't dangle")
    func empty() throws {
        try withLink { agent, target in
            let outcome = try agent.defaults("delete", "a.b")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try values(target) == [:])
            #expect(try agent.status()["errors"] == [])
            #expect(try agent.defaults("write", "a.b", "size", "-int", "14").status == 0)
            #expect(try values(target) == ["size": 14])
        }
    }
}
