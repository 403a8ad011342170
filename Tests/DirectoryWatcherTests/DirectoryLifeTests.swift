import DirectoryWatcher
import Foundation
import Testing

extension WatcherTests {
    /// Tests in which the directory appears, disappears, and is replaced.
    @Suite("The directory's life") struct DirectoryLife {
        /// Ways to replace the directory that cause events; it is a directory afterwards.
        static let replacements = [
            "rm -r preferences; mkdir preferences",
            "rm -r preferences; mkdir preferences preferences/ByHost",
            "mv preferences old; mkdir preferences",
            "mv preferences old; mv old preferences",
            "mkdir new; mv preferences old; mv new preferences",
            "mkdir new; mv preferences old; ln -s new preferences",
        ]

        @Test("A replaced directory is watched again thanks to events alone", arguments: replacements)
        func replaced(_ script: String) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try scratch.sh(script, above: true)
                _ = try watcher.gather { $0.rescan == .replaced && watcher.status.mode == .inotify }
                _ = watcher.taken()
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["b.plist"]))
            }
        }

        @Test(
            "A directory replaced while polling marks a rescan",
            arguments: replacements.filter { !$0.hasSuffix("mv old preferences") })
        func polled(_ script: String) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration(polling: .always)) { watcher in
                try watcher.settle()
                try scratch.sh(script, above: true)
                let dirty = watcher.taken()
                // ext4 may give the new directory the old one's inode: then only the missing names reveal it.
                #expect(dirty.rescan == .replaced || dirty.changed.contains("a.plist"))
                try watcher.settle()
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken().changed == ["b.plist"])
            }
        }

        @Test("A link to a directory is followed, and its switch marks a rescan")
        func link() async throws {
            let scratch = try Scratch(withPreferences: false)
            try scratch.sh("mkdir 1 2; ln -s 1 preferences", above: true)
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try scratch.write("new", to: "1/a.plist", above: true)
                #expect(watcher.taken().changed == ["a.plist"])
                try scratch.sh("ln -sfn 2 preferences", above: true)
                _ = try watcher.gather { $0.rescan == .replaced }
                try scratch.write("new", to: "1/a.plist", above: true)
                try scratch.write("new", to: "2/b.plist", above: true)
                #expect(watcher.taken().changed == ["b.plist"])
            }
        }

        @Test(
            "A changed link further above is found by the identity check and by a requested check",
            arguments: [false, true])
        func linkAbove(isRequested: Bool) async throws {
            let scratch = try Scratch(withPreferences: false)
            try scratch.sh("mkdir -p 1/p 2/p; ln -s 1 l", above: true)
            var configuration = scratch.configuration()
            configuration.directory = scratch.path + "/l/p/"
            if !isRequested { configuration.identityCheckInterval = .milliseconds(20) }
            try await watching(configuration) { watcher in
                _ = watcher.read()
                try scratch.sh("ln -sfn 2 l", above: true)
                if isRequested {
                    #expect(watcher.taken().rescan == .replaced)
                } else {
                    _ = try watcher.gather { $0.rescan == .replaced }
                }
                try scratch.write("new", to: "2/p/b.plist", above: true)
                #expect(watcher.taken().changed == ["b.plist"])
            }
        }

        @Test("A mount over the directory is found by a check of the paths", .enabled(if: try canMount()))
        func mount() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try scratch.sh("mount -t tmpfs none preferences", above: true)
                #expect(watcher.taken().rescan == .replaced)
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken().changed == ["b.plist"])
                try scratch.sh("umount -l preferences", above: true)
                #expect(watcher.taken().rescan == .replaced)
                try scratch.write("new", to: "a.plist")
                #expect(watcher.taken().changed == ["a.plist"])
            }
        }

        @Test(
            "A directory on a network file system is polled, and one that replaces it is watched",
            .enabled(if: FileManager.default.fileExists(atPath: "/dev/shm")))
        func fileSystem() async throws {
            let scratch = try Scratch()
            let remote = "/dev/shm/" + (scratch.path as NSString).lastPathComponent
            defer { try? FileManager.default.removeItem(atPath: remote) }
            try scratch.sh("mkdir \(remote); ln -s \(remote) l", above: true)
            var configuration = scratch.configuration()
            configuration.directory = scratch.path + "/l"
            configuration.unreportingFileSystems = [0x0102_1994: "a network's"]  // tmpfs's number
            try await watching(configuration) { watcher in
                #expect(watcher.status.mode == .polling(.fileSystem(name: "a network's")))
                #expect(watcher.status.watches == 1, "the directory above")
                try watcher.settle()
                try scratch.sh("echo new > l/a.plist", above: true)
                #expect(watcher.taken() == DirtyNames(changed: ["a.plist"]))

                try scratch.sh("ln -sfn preferences l", above: true)
                #expect(watcher.taken().rescan == .replaced)
                #expect(watcher.status.mode == .inotify)
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["b.plist"]))

                try scratch.sh("rmdir ByHost; ln -s \(remote) ByHost")
                #expect(watcher.taken().rescan != nil)
                #expect(watcher.status.mode == .polling(.fileSystem(name: "a network's")))
                try watcher.settle()
                try scratch.sh("echo newer > \(remote)/a.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["ByHost/a.plist"]))
            }
        }

        @Test(
            "A missing directory is awaited, however many directories are missing above it", arguments: [false, true])
        func missing(atOnce: Bool) async throws {
            let scratch = try Scratch(withPreferences: false)
            var configuration = scratch.configuration()
            configuration.directory = scratch.path + "/a/b/c"
            try await watching(configuration) { watcher in
                #expect(watcher.status.mode == .waiting(.missing))
                #expect(watcher.read() == DirtyNames(rescan: .started))
                for script in atOnce ? ["mkdir -p a/b/c"] : ["mkdir a", "mkdir a/b", "mkdir a/b/c"] {
                    try scratch.sh(script, above: true)
                }
                _ = try watcher.gather { $0.rescan == .replaced }
                _ = try watcher.gather { _ in watcher.status.mode == .inotify }
                try scratch.write("new", to: "a/b/c/a.plist", above: true)
                #expect(watcher.taken().changed == ["a.plist"])
                try scratch.sh("rm -r a", above: true)
                let dirty = try watcher.gather { _ in watcher.status.mode == .waiting(.missing) }
                #expect(dirty.rescan == .replaced)
            }
        }

        @Test("A file in the directory's place is reported, and the directory that replaces it is watched")
        func file() async throws {
            let scratch = try Scratch(withPreferences: false)
            try scratch.sh("touch preferences", above: true)
            try await watching(scratch.configuration()) { watcher in
                #expect(watcher.status.mode == .waiting(.notADirectory))
                _ = watcher.read()
                try scratch.sh("rm preferences; mkdir preferences", above: true)
                _ = try watcher.gather { $0.rescan == .replaced }
                #expect(watcher.status.mode == .inotify)
            }
        }

        @Test("A directory that can't be read is awaited until it can", .enabled(if: getuid() != 0))
        func unreadable() async throws {
            let scratch = try Scratch()
            try scratch.sh("chmod 000 preferences", above: true)
            try await watching(scratch.configuration()) { watcher in
                #expect(watcher.status.mode == .waiting(.unreadable(errno: EACCES)))
                _ = watcher.read()
                try scratch.sh("chmod 700 preferences", above: true)
                _ = try watcher.gather { $0.rescan == .replaced }
                #expect(watcher.status.mode == .inotify)
            }
        }

        @Test("A subdirectory is followed when it appears, disappears, reappears or is renamed")
        func subdirectory() async throws {
            let scratch = try Scratch()
            try scratch.sh("rmdir ByHost")
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                for script in ["mkdir ByHost", "rm -r ByHost; mkdir ByHost", "mv ByHost x; mkdir ByHost"] {
                    try scratch.sh(script)
                    _ = try watcher.gather { $0.rescan == .replaced }
                    _ = watcher.taken()
                    try scratch.write("new", to: "ByHost/a.plist")
                    #expect(watcher.taken() == DirtyNames(changed: ["ByHost/a.plist"]), "\(script)")
                }
                try scratch.write("new", to: "x/a.plist")
                #expect(watcher.taken().isEmpty)
                #expect(watcher.status.watches == 3)
            }
        }

        @Test("A file is reported under both names if the subdirectory is the directory itself")
        func loop() async throws {
            let scratch = try Scratch()
            try scratch.sh("rmdir ByHost; ln -s . ByHost")
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try scratch.write("new", to: "a.plist")
                #expect(watcher.taken().changed == ["a.plist", "ByHost/a.plist"])
                try scratch.sh("rm ByHost; mkdir ByHost")
                #expect(watcher.taken().rescan == .replaced)
                try scratch.write("new", to: "a.plist")
                #expect(watcher.taken().changed == ["a.plist"])
            }
        }

        @Test("A directory replaced 200 times leaks no descriptor or watch, and no replacement is missed")
        func leaks() async throws {
            await #expect(processExitsWith: .success) {
                let scratch = try Scratch()
                try await watching(scratch.configuration()) { watcher in
                    _ = watcher.taken()
                    let before = try openFiles(below: scratch.path)
                    for round in 0..<200 {
                        if round.isMultiple(of: 2) {
                            try FileManager.default.removeItem(atPath: scratch.preferences)
                        } else {
                            #expect(rename(scratch.preferences, "\(scratch.path)/old-\(round)") == 0)
                        }
                        try FileManager.default.createDirectory(
                            atPath: scratch.preferences + "/ByHost", withIntermediateDirectories: true)
                        try #require(watcher.taken().rescan != nil)
                        try scratch.write("new", to: "ByHost/\(round).plist")
                        try #require(watcher.taken() == DirtyNames(changed: ["ByHost/\(round).plist"]))
                    }
                    #expect(try openFiles(below: scratch.path) == before)
                    #expect(watcher.status.watches == 3)
                    #expect(watcher.status.rearms >= 200)
                }
                #expect(try openFiles(below: scratch.path).filter { $0.hasPrefix(scratch.path) }.isEmpty)
            }
        }

        @Test("A watch is set again only after the rearm interval, but immediately in a requested check")
        func backOff() async throws {
            let scratch = try Scratch()
            var configuration = scratch.configuration()
            configuration.rearmInterval = .seconds(3600)
            try await watching(configuration) { watcher in
                let script = "rm -r preferences; mkdir preferences"
                _ = watcher.read()
                try scratch.sh(script, above: true)
                _ = watcher.taken()
                let rearms = watcher.status.rearms
                try scratch.sh(script, above: true)
                _ = try watcher.gather { $0.rescan == .replaced }
                #expect(watcher.status.rearms == rearms)
                #expect(watcher.taken().rescan == .replaced)
                #expect(watcher.status.rearms > rearms)
            }
        }

        private static func canMount() throws -> Bool {
            let scratch = try Scratch()
            return try scratch.status(of: "mount -t tmpfs none ByHost 2>/dev/null && umount ByHost") == 0
        }
    }
}
