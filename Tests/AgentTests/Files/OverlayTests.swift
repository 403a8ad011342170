import DefaultsCore
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// A preferences directory whose files come from a lower layer, as in a container's image.
@Suite("A directory on overlayfs")
struct OverlayTests {
    /// Runs a test with an agent on an overlay, whose layers are on a tmpfs, as not every file system can be the upper.
    private static func withOverlay(_ body: (AgentProcess) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            try RawFile.makeDirectory(place.root + "/layers")
            try mount("mount -t tmpfs none layers", in: place.root)
            defer { umount2(place.root + "/layers", Int32(MNT_DETACH)) }
            let overlay = """
                mkdir -p layers/lower layers/upper layers/work; echo '{ size = 12; }' > layers/lower/a.b.plist
                cd layers; mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work ../p
                """
            try mount(overlay, in: place.root)
            defer { umount2(place.preferences, Int32(MNT_DETACH)) }
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try body(agent)
        }
    }

    private static func mount(_ script: String, in directory: String) throws {
        let outcome = try Programs.shell("set -e; \(script)", in: directory)
        if outcome.status != 0 { throw AgentProcess.AgentFailure(description: outcome.errors) }
    }

    private static let canMount =
        (try? withTemporaryDirectory { directory in
            let script = """
                mkdir t; mount -t tmpfs none t; trap 'umount -l t' EXIT; mkdir t/l t/u t/w t/m
                mount -t overlay none -o lowerdir=t/l,upperdir=t/u,workdir=t/w t/m; umount t/m
                """
            try mount(script, in: directory)
            return true
        }) ?? false

    @Test(
        "Edits go to the upper layer, and `defaults sync` finds a change in a lower one, as `defaults doctor` says",
        .enabled(if: canMount, "No overlay can be mounted here."))
    func lowerLayer() throws {
        try Self.withOverlay { agent in
            let layers = agent.place.root + "/layers"
            #expect(try agent.defaults("write", "c.d", "key", "1").status == 0)
            #expect(RawFile.exists("\(layers)/upper/c.d.plist") && !RawFile.exists("\(layers)/lower/c.d.plist"))
            try RawFile.write("{ size = 13; }", to: "\(layers)/lower/a.b.plist")
            #expect(try agent.defaults("sync").status == 0)
            #expect(try agent.defaults("read", "a.b", "size").output == "13\n")
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 0)
            let text = String(decoding: try RawFile.read("\(layers)/upper/a.b.plist"), as: UTF8.self)
            #expect(text.contains("size = 13") && text.contains("color = red"))
            let report = try agent.defaults("doctor").output
            #expect(report.contains("(overlay) doesn't report changes made in a lower layer"), "\(report)")
        }
    }

    @Test(
        "A removed directory of a lower layer is created again for the next edit",
        .enabled(if: canMount, "No overlay can be mounted here."))
    func removed() throws {
        try AgentProcess.withPlace { place in
            let overlay = """
                mkdir layers; mount -t tmpfs none layers; cd layers; mkdir -p lower/p upper work all
                mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work all
                """
            try Self.mount(overlay, in: place.root)
            defer {
                umount2(place.root + "/layers/all", Int32(MNT_DETACH))
                umount2(place.root + "/layers", Int32(MNT_DETACH))
            }
            let inside = AgentProcess.Place(preferences: place.root + "/layers/all/p", runtime: place.runtime)
            let agent = try AgentProcess(inside)
            defer { agent.kill() }
            #expect(try agent.defaults("write", "a.b", "one", "1").status == 0)
            try Programs.shell("rm -r all/p", in: place.root + "/layers")
            #expect(try agent.defaults("write", "c.d", "two", "2").status == 0)
            #expect(inside.files == ["c.d.plist"])
        }
    }
}
