import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A domain's file that is a link to a file elsewhere, as those make who keep their settings in a repository.
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

    @Test("A change of what the link leads to is told as any other", arguments: ["cat new > real", "mv new real"])
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

    @Test("While it leads nowhere the last good values stay, nothing is made there, and edits wait")
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

    @Test("Without its last key the file stays, empty, since the link would lead nowhere")
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
