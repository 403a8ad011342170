import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Domains' files that change from elsewhere: through another hard link, or because they are mounted.
@Suite("Hard links and mounted files")
struct TiedFileTests {
    private func values(_ path: String) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(path))
    }

    @Test("A change through another hard link is reported, and edits are saved to all of them")
    func hardLink() throws {
        try AgentProcess.withAgent(prepare: { place in
            try RawFile.write("{ size = 12; }", to: place.path("a.b"))
            link(place.path("a.b"), place.root + "/real")
        }) { agent in
            let follower = try agent.follow()
            try follower.expect(["a.b: size 12>13 (file)"]) { try agent.shell("echo '{ size = 13; }' > ../real") }
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 0)
            #expect(try values(agent.place.root + "/real") == ["size": "13", "color": "red"])
        }
    }

    @Test("`defaults sync` finds a change that nothing has reported")
    func unreported() throws {
        try AgentProcess.withAgent(prepare: { place in
            try RawFile.write("{ size = 12; }", to: place.path("a.b"))
        }) { agent in
            for size in ["13", "14"] {
                // Nothing reports the new link either.
                try agent.shell("[ -e ../real ] || ln a.b.plist ../real; echo '{ size = \(size); }' > ../real")
                #expect(try agent.defaults("sync").status == 0)
                #expect(try agent.defaults("read", "a.b", "size").output == "\(size)\n")
            }
            // From now on, the link is known.
            let follower = try agent.follow()
            try follower.expect(["a.b: size 14>15 (file)"]) { try agent.shell("echo '{ size = 15; }' > ../real") }
        }
    }

    @Test("A mounted file is followed, and edits are saved in place", .enabled(if: canMount))
    func mounted() throws {
        try AgentProcess.withPlace { place in
            let mount = "echo '{ size = 12; }' > real; echo > p/a.b.plist; mount --bind real p/a.b.plist"
            #expect(try Programs.shell(mount, in: place.root).status == 0)
            defer { umount2(place.path("a.b"), Int32(MNT_DETACH)) }
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let follower = try agent.follow()
            try follower.expect(["a.b: size 12>13 (file)"]) { try agent.shell("echo '{ size = 13; }' > ../real") }
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 0)
            #expect(try values(place.root + "/real") == ["size": "13", "color": "red"])
            try follower.expect(["a.b: color ->red (app)", "a.b: color red>blue, size 13>14 (file)"]) {
                try agent.shell("echo '{ size = 14; color = blue; }' > ../real")
            }
            #expect(try agent.defaults("delete", "a.b").status == 0)
            #expect(try values(place.root + "/real") == [:])
            #expect(try agent.status()["errors"] == [])
        }
    }

    private static let canMount =
        (try? withTemporaryDirectory { directory in
            try Programs.shell("echo > a; echo > b; mount --bind a b && umount b", in: directory).status == 0
        }) ?? false
}
