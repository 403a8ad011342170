import DirectoryWatcher
import Foundation
import Glibc
import Testing

extension WatcherTests {
    @Suite("Links to files elsewhere")
    struct LinkTests {
        /// A scratch directory with a link in it, to a file elsewhere.
        private func linked() throws -> Scratch {
            let scratch = try Scratch()
            try scratch.sh("mkdir elsewhere; echo old > elsewhere/real", above: true)
            try scratch.sh("ln -s ../elsewhere/real link.plist; ln -s link.plist ByHost/none.plist")
            return scratch
        }

        @Test(
            "Whatever is done to what a link leads to is reported at once, by the link's name",
            arguments: [
                "echo new > real", "echo new > x; mv x real", "rm real", "touch real", "mv real away",
                "rm real; echo new > real", "rm real; ln -s ../other real",
            ])
        func target(script: String) async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try await watcher.settle()
                try scratch.sh("cd elsewhere; \(script)", above: true)
                // No drain: the event tells.
                let dirty = try await watcher.gather { !$0.changed.isEmpty }
                #expect(dirty == DirtyNames(changed: ["link.plist"]))
            }
        }

        @Test("A file beside what a link leads to is nobody's business")
        func neighbour() async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try await watcher.settle()
                try scratch.sh("echo new > elsewhere/link.plist; echo new > elsewhere/b.plist", above: true)
                #expect(await watcher.taken().isEmpty)
            }
        }

        @Test(
            "A link that comes later is followed, too, however it comes",
            arguments: [
                "ln -s ../elsewhere/real new.plist", "ln -s ../elsewhere/real x; mv x new.plist",
                "echo file > new.plist; ln -sf ../elsewhere/real new.plist", "ln -s link.plist new.plist",
            ])
        func later(script: String) async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try await watcher.settle()
                try scratch.sh(script)
                try await watcher.settle()
                try scratch.sh("echo new > elsewhere/real", above: true)
                let dirty = try await watcher.gather { $0.changed.count == 2 }
                #expect(dirty.changed == ["link.plist", "new.plist"])
            }
        }

        @Test("What a link leads to in the directory itself is reported by both names")
        func within() async throws {
            let scratch = try Scratch()
            try scratch.sh("ln -s a.plist link.plist; ln -s ../a.plist ByHost/link.plist")
            try await watching(scratch.configuration()) { watcher in
                try await watcher.settle()
                try scratch.write("new", to: "a.plist")
                #expect(await watcher.taken().changed == ["a.plist", "link.plist", "ByHost/link.plist"])
            }
        }

        @Test("A link in a companion is followed")
        func companion() async throws {
            let scratch = try linked()
            try scratch.sh("mkdir companion; ln -s ../elsewhere/real companion/c.plist", above: true)
            var configuration = scratch.configuration()
            configuration.companions = [scratch.path + "/companion"]
            try await watching(configuration) { watcher in
                try await watcher.settle()
                try scratch.sh("echo new > elsewhere/real", above: true)
                #expect(await watcher.taken().changed == ["link.plist", scratch.path + "/companion/c.plist"])
            }
        }

        @Test(
            "What no event tells is found by a drain",
            arguments: [
                // A link on the way, a directory above, and what is made where nothing was.
                "ln -s elsewhere way; ln -sfn ../way/real preferences/link.plist",
                "mkdir -p deep/er; echo old > deep/er/real; ln -sf ../deep/er/real preferences/link.plist",
                "ln -sf ../nowhere/real preferences/link.plist",
            ])
        func byDrain(arrangement: String) async throws {
            let scratch = try linked()
            try scratch.sh(arrangement, above: true)
            try await watching(scratch.configuration()) { watcher in
                try await watcher.settle()
                try scratch.sh(
                    """
                    mkdir second; echo new > second/real; mkdir -p nowhere
                    if [ -L way ]; then ln -sfn second way
                    elif [ -d deep ]; then mv deep shallow; mkdir deep; mv second deep/er
                    else echo new > nowhere/real; fi
                    """, above: true)
                #expect(await watcher.taken().changed == ["link.plist"])
                // And from then on by events.
                try await watcher.settle()
                try scratch.sh("echo newer > preferences/link.plist", above: true)
                #expect(try await watcher.gather { !$0.changed.isEmpty }.changed == ["link.plist"])
            }
        }

        @Test("What a link leads to is found by the identity check")
        func identityCheck() async throws {
            let scratch = try linked()
            try scratch.sh("ln -sf ../nowhere preferences/link.plist", above: true)
            var configuration = scratch.configuration()
            configuration.identityCheckInterval = .milliseconds(5)
            try await watching(configuration) { watcher in
                try await watcher.settle()
                try scratch.sh("echo new > nowhere", above: true)
                #expect(try await watcher.gather { !$0.changed.isEmpty }.changed == ["link.plist"])
            }
        }

        @Test("The watch of what links lead to ends with the last of them, and rescans nothing")
        func unlinked() async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try await watcher.settle()
                let rescans = watcher.status.rescans
                #expect(watcher.status.watches == 4)
                try scratch.sh("rm link.plist ByHost/none.plist")
                await watcher.drain()
                #expect(watcher.status.watches == 3)
                try scratch.sh("ln -s ../elsewhere/real link.plist")
                await watcher.drain()
                #expect(watcher.status.watches == 4)
                try scratch.sh("rm -r elsewhere", above: true)
                await watcher.drain()
                #expect(watcher.status.watches == 3)
                #expect(watcher.status.rescans == rescans)
            }
        }
    }
}
