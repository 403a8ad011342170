import DirectoryWatcher
import Foundation
import Glibc
import Testing

extension WatcherTests {
    @Suite("Links to files elsewhere")
    struct LinkTests {
        /// Creates a scratch directory that contains a link to a file elsewhere.
        private func linked() throws -> Scratch {
            let scratch = try Scratch()
            try scratch.sh("mkdir elsewhere; echo old > elsewhere/real", above: true)
            try scratch.sh("ln -s ../elsewhere/real link.plist; ln -s link.plist ByHost/none.plist")
            return scratch
        }

        @Test(
            "A change to a link's target is reported immediately under the link's name",
            arguments: [
                "echo new > real", "echo new > x; mv x real", "rm real", "touch real", "mv real away",
                "rm real; echo new > real", "rm real; ln -s ../other real",
            ])
        func target(script: String) async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                try scratch.sh("cd elsewhere; \(script)", above: true)
                // The paths aren't checked here: the event alone must report the change.
                let dirty = try watcher.gather { !$0.changed.isEmpty }
                #expect(dirty == DirtyNames(changed: ["link.plist"]))
            }
        }

        @Test("A change to another file beside a link's target isn't reported")
        func neighbour() async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                try scratch.sh("echo new > elsewhere/link.plist; echo new > elsewhere/b.plist", above: true)
                #expect(watcher.taken().isEmpty)
            }
        }

        @Test(
            "A link created later is followed too, however it is created",
            arguments: [
                "ln -s ../elsewhere/real new.plist", "ln -s ../elsewhere/real x; mv x new.plist",
                "echo file > new.plist; ln -sf ../elsewhere/real new.plist", "ln -s link.plist new.plist",
            ])
        func later(script: String) async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                try scratch.sh(script)
                try watcher.settle()
                try scratch.sh("echo new > elsewhere/real", above: true)
                let dirty = try watcher.gather { $0.changed.count == 2 }
                #expect(dirty.changed == ["link.plist", "new.plist"])
            }
        }

        @Test("A change to a link's target in the same directory is reported under both names")
        func within() async throws {
            let scratch = try Scratch()
            try scratch.sh("ln -s a.plist link.plist; ln -s ../a.plist ByHost/link.plist")
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                try scratch.write("new", to: "a.plist")
                #expect(watcher.taken().changed == ["a.plist", "link.plist", "ByHost/link.plist"])
            }
        }

        @Test("A link in a companion is followed")
        func companion() async throws {
            let scratch = try linked()
            try scratch.sh("mkdir companion; ln -s ../elsewhere/real companion/c.plist", above: true)
            var configuration = scratch.configuration()
            configuration.companions = [scratch.path + "/companion"]
            try await watching(configuration) { watcher in
                try watcher.settle()
                try scratch.sh("echo new > elsewhere/real", above: true)
                #expect(watcher.taken().changed == ["link.plist", scratch.path + "/companion/c.plist"])
            }
        }

        @Test(
            "A change to a link's target without an event is found by a check of the paths",
            arguments: [
                // These change a link on the way, change a directory above, and create a missing target.
                "ln -s elsewhere way; ln -sfn ../way/real preferences/link.plist",
                "mkdir -p deep/er; echo old > deep/er/real; ln -sf ../deep/er/real preferences/link.plist",
                "ln -sf ../nowhere/real preferences/link.plist",
            ])
        func byDrain(arrangement: String) async throws {
            let scratch = try linked()
            try scratch.sh(arrangement, above: true)
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                try scratch.sh(
                    """
                    mkdir second; echo new > second/real; mkdir -p nowhere
                    if [ -L way ]; then ln -sfn second way
                    elif [ -d deep ]; then mv deep shallow; mkdir deep; mv second deep/er
                    else echo new > nowhere/real; fi
                    """, above: true)
                #expect(watcher.taken().changed == ["link.plist"])
                // Further changes are found by events.
                try watcher.settle()
                try scratch.sh("echo newer > preferences/link.plist", above: true)
                #expect(try watcher.gather { !$0.changed.isEmpty }.changed == ["link.plist"])
            }
        }

        @Test("A new target of a dangling link is found by the identity check")
        func identityCheck() async throws {
            let scratch = try linked()
            try scratch.sh("ln -sf ../nowhere preferences/link.plist", above: true)
            var configuration = scratch.configuration()
            configuration.identityCheckInterval = .milliseconds(5)
            try await watching(configuration) { watcher in
                try watcher.settle()
                try scratch.sh("echo new > nowhere", above: true)
                #expect(try watcher.gather { !$0.changed.isEmpty }.changed == ["link.plist"])
            }
        }

        @Test("The watch on a target's directory ends with the last link into it, without a rescan")
        func unlinked() async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                let rescans = watcher.status.rescans
                #expect(watcher.status.watches == 4)
                try scratch.sh("rm link.plist ByHost/none.plist")
                _ = watcher.taken()
                #expect(watcher.status.watches == 3)
                try scratch.sh("ln -s ../elsewhere/real link.plist")
                _ = watcher.taken()
                #expect(watcher.status.watches == 4)
                try scratch.sh("rm -r elsewhere", above: true)
                _ = watcher.taken()
                #expect(watcher.status.watches == 3)
                #expect(watcher.status.rescans == rescans)
            }
        }
    }
}
