import DirectoryWatcher
import Glibc
import Testing

extension WatcherTests {
    @Suite("Files with hard links, and mounted files")
    struct TiedFileTests {
        /// Creates a scratch directory with a file that has another hard link elsewhere.
        private func linked() throws -> Scratch {
            let scratch = try Scratch()
            try scratch.sh("mkdir elsewhere; ln preferences/a.plist elsewhere/real", above: true)
            return scratch
        }

        @Test(
            "A write through another hard link is reported immediately, once the link is known",
            arguments: [nil, "listing", "touch preferences/a.plist"])
        func hardLink(hint: String?) async throws {
            let scratch = try hint == nil ? linked() : Scratch()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                if let hint {
                    // Nothing reports a new link.
                    try scratch.sh("mkdir elsewhere; ln preferences/a.plist elsewhere/real", above: true)
                    if hint == "listing" { watcher.requestListing() } else { try scratch.sh(hint, above: true) }
                    try watcher.settle()
                }
                for text in ["new", "newer"] {
                    try scratch.sh("echo \(text) > elsewhere/real", above: true)
                    let dirty = try watcher.gather { !$0.changed.isEmpty }
                    #expect(dirty == DirtyNames(changed: ["a.plist"]))
                    try watcher.settle()
                }
            }
        }

        @Test("A file that has lost its other hard links is no longer watched itself")
        func unlinked() async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                let watches = watcher.status.watches
                try scratch.sh("rm elsewhere/real", above: true)
                _ = try watcher.gather { !$0.changed.isEmpty }
                try watcher.settle()
                #expect(watcher.status.watches == watches - 1)
                try scratch.sh("echo new > a.plist")
                #expect(try watcher.gather { !$0.changed.isEmpty } == DirtyNames(changed: ["a.plist"]))
            }
        }

        @Test(
            "A change through a mapping of a file with several hard links is found by a check of the paths",
            .enabled(if: hasPython))
        func mapped() async throws {
            let scratch = try linked()
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                try scratch.sh(
                    """
                    python3 -c 'import mmap
                    with open("elsewhere/real", "r+b") as f: mmap.mmap(f.fileno(), 0)[:3] = b"new"'
                    """, above: true)
                #expect(watcher.taken().changed.contains("a.plist"))
            }
        }

        @Test(
            "A change to a file that is mounted over another is reported immediately",
            .enabled(if: try canMount()), arguments: [true, false])
        func mount(isEarly: Bool) async throws {
            let scratch = try Scratch()
            try scratch.sh("mkdir elsewhere; echo old > elsewhere/real", above: true)
            let mount = "mount --bind elsewhere/real preferences/a.plist"
            if isEarly { try scratch.sh(mount, above: true) }
            defer { umount2(scratch.preferences + "/a.plist", Int32(MNT_DETACH)) }
            try await watching(scratch.configuration()) { watcher in
                try watcher.settle()
                if !isEarly {
                    try scratch.sh(mount, above: true)
                    #expect(watcher.taken().changed == ["a.plist"])
                    try watcher.settle()
                }
                for script in ["echo new > elsewhere/real", "echo newer > preferences/a.plist"] {
                    try scratch.sh(script, above: true)
                    #expect(try watcher.gather { !$0.changed.isEmpty } == DirtyNames(changed: ["a.plist"]))
                    try watcher.settle()
                }
                try scratch.sh("umount preferences/a.plist", above: true)
                #expect(watcher.taken().changed == ["a.plist"])
                try watcher.settle()
                try scratch.sh("echo other > a.plist")
                #expect(try watcher.gather { !$0.changed.isEmpty } == DirtyNames(changed: ["a.plist"]))
            }
        }

        private static let hasPython = (try? Scratch().status(of: "python3 -c ''")) == 0

        private static func canMount() throws -> Bool {
            let scratch = try Scratch()
            let script = "echo > b; mount --bind b a.plist 2>/dev/null && umount a.plist"
            return try scratch.status(of: script) == 0
        }
    }
}
