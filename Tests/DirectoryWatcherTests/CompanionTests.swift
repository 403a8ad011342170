import DirectoryWatcher
import Foundation
import Testing

extension WatcherTests {
    /// Tests with further directories, watched along with the main one.
    @Suite("Companions") struct Companions {
        /// Returns a configuration with the companions `system`, which exists, and `later`, which doesn't.
        private func configuration(
            _ scratch: Scratch, polling: DirectoryWatcher.PollingChoice = .automatic
        ) throws -> DirectoryWatcher.Configuration {
            try scratch.sh("mkdir -p system/ByHost", above: true)
            var configuration = scratch.configuration(polling: polling)
            configuration.companions = [scratch.path + "/system", scratch.path + "/later/"]
            return configuration
        }

        @Test(
            "A change in a companion is reported by its absolute path if its relative path is relevant",
            arguments: [DirectoryWatcher.PollingChoice.automatic, .always])
        func changes(polling: DirectoryWatcher.PollingChoice) async throws {
            let scratch = try Scratch()
            try await watching(configuration(scratch, polling: polling)) { watcher in
                try watcher.settle()
                try scratch.sh("echo new > a.plist; echo new > ByHost/b.plist; echo new > .c.plist; echo > d")
                let start = scratch.path + "/system"
                try scratch.sh(
                    "cd system; echo new > a.plist; echo new > ByHost/b.plist; echo new > .c.plist; echo > d",
                    above: true)
                #expect(
                    watcher.taken()
                        == DirtyNames(
                            changed: ["a.plist", "ByHost/b.plist", start + "/a.plist", start + "/ByHost/b.plist"]))
                try watcher.settle()
                try scratch.sh("rm system/a.plist", above: true)
                #expect(watcher.taken() == DirtyNames(changed: [start + "/a.plist"]))
            }
        }

        @Test("A companion's change is an event, and a file being written is reported as such")
        func events() async throws {
            let scratch = try Scratch()
            try await watching(configuration(scratch)) { watcher in
                _ = watcher.read()
                let path = scratch.path + "/system/a.plist"
                try scratch.sh("echo new > system/a.plist", above: true)
                _ = try watcher.gather { $0.changed == [path] }
                // The shell creates the file and closes it; the two events may arrive separately.
                try watcher.settle()
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
                try file.write(contentsOf: Data("newer".utf8))
                #expect(watcher.taken() == DirtyNames(beingWritten: [path]))
                try file.close()
                #expect(watcher.taken() == DirtyNames(changed: [path]))
            }
        }

        @Test(
            "A check of the paths finds a companion or a companion's subdirectory created later",
            arguments: [DirectoryWatcher.PollingChoice.automatic, .always])
        func later(polling: DirectoryWatcher.PollingChoice) async throws {
            let scratch = try Scratch()
            let path = scratch.path + "/later"
            try await watching(configuration(scratch, polling: polling)) { watcher in
                try watcher.settle()
                #expect(watcher.status.companions[path] == .waiting(.missing))
                try scratch.sh("mkdir later; echo new > later/a.plist", above: true)
                #expect(watcher.taken().rescan == .replaced)
                #expect(watcher.status.companions[path] == (polling == .always ? .polling(.requested) : .inotify))
                try watcher.settle()
                try scratch.sh("mkdir later/ByHost; echo new > later/ByHost/b.plist", above: true)
                let dirty = watcher.taken()
                #expect(dirty.rescan != nil || dirty.changed.contains(path + "/ByHost/b.plist"))
                try watcher.settle()
                try scratch.sh("echo newer > later/ByHost/b.plist", above: true)
                #expect(watcher.taken() == DirtyNames(changed: [path + "/ByHost/b.plist"]))
            }
        }

        @Test("A companion that is created later is found by the identity check")
        func found() async throws {
            let scratch = try Scratch()
            var configuration = try configuration(scratch)
            configuration.identityCheckInterval = .milliseconds(20)
            try await watching(configuration) { watcher in
                _ = watcher.read()
                try scratch.sh("mkdir later", above: true)
                _ = try watcher.gather { $0.rescan == .replaced }
                try scratch.sh("echo new > later/a.plist", above: true)
                _ = try watcher.gather { $0.changed == [scratch.path + "/later/a.plist"] }
            }
        }

        @Test(
            "A removed or replaced companion marks a rescan, and the main directory stays as it was",
            arguments: [
                "rm -r system", "mv system old", "mv system old; mkdir system",
                "mkdir new; mv system old; ln -s new system",
            ])
        func replaced(script: String) async throws {
            let scratch = try Scratch()
            let path = scratch.path + "/system"
            try await watching(configuration(scratch)) { watcher in
                _ = watcher.read()
                try scratch.sh(script, above: true)
                #expect(watcher.taken().rescan == .replaced)
                let isThere = script.hasSuffix("system") && script.contains(";")
                #expect(watcher.status.companions[path] == (isThere ? .inotify : .waiting(.missing)))
                #expect(watcher.status.mode == .inotify)
                _ = watcher.taken()
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["b.plist"]))
                try scratch.sh("mkdir -p system; echo new > system/a.plist", above: true)
                let dirty = watcher.taken()
                #expect(isThere ? dirty == DirtyNames(changed: [path + "/a.plist"]) : dirty.rescan == .replaced)
            }
        }

        @Test(
            "A companion whose mode changes marks a rescan, because others may have written its files",
            arguments: [DirectoryWatcher.PollingChoice.automatic, .always], ["system", "system/ByHost"])
        func permissions(polling: DirectoryWatcher.PollingChoice, name: String) async throws {
            let scratch = try Scratch()
            try await watching(configuration(scratch, polling: polling)) { watcher in
                try watcher.settle()
                try scratch.sh("chmod g+w \(name)", above: true)
                #expect(watcher.taken().rescan == .permissions)
                #expect(watcher.taken().isEmpty)
            }
        }

        @Test("Only the companion on a file system that doesn't report every change is polled")
        func fileSystem() async throws {
            let scratch = try Scratch()
            let remote = "/dev/shm/" + (scratch.path as NSString).lastPathComponent
            defer { try? FileManager.default.removeItem(atPath: remote) }
            try scratch.sh("mkdir \(remote)", above: true)
            var configuration = try configuration(scratch)
            configuration.companions.append(remote)
            configuration.unreportingFileSystems = [0x0102_1994: "a network's"]  // tmpfs's number
            configuration.pollInterval = .milliseconds(20)
            try await watching(configuration) { watcher in
                #expect(watcher.status.mode == .inotify)
                #expect(watcher.status.companions[remote] == .polling(.fileSystem(name: "a network's")))
                #expect(watcher.status.companions[scratch.path + "/system"] == .inotify)
                try watcher.settle()
                try scratch.sh("echo new > \(remote)/a.plist")
                #expect(try watcher.gather { !$0.isEmpty } == DirtyNames(changed: [remote + "/a.plist"]))
            }
        }
    }
}
