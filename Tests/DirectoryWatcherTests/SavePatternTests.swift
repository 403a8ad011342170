import DirectoryWatcher
import Foundation
import TestSupport
import Testing

/// A way to save a file, and the names that it makes dirty.
struct SavePattern: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var script: String
    var changed: Set<String> = ["a.plist"]
    var tool = "sh"

    static var runnable: [SavePattern] { all.filter { Programs.isInstalled($0.tool) } }

    static let all: [SavePattern] = [
        .init(testDescription: "truncate and write", script: "printf new > a.plist"),
        .init(testDescription: "append", script: "printf more >> a.plist"),
        .init(testDescription: "empty", script: ": > a.plist"),
        .init(testDescription: "create", script: "printf new > b.plist", changed: ["b.plist"]),
        .init(
            testDescription: "python in place", script: "python3 -c 'open(\"a.plist\", \"w\").write(\"new\")'",
            tool: "python3"),
        .init(
            testDescription: "python with os.replace",
            script: "python3 -c 'import os; open(\".t\", \"w\").write(\"new\"); os.replace(\".t\", \"a.plist\")'",
            tool: "python3"),
        .init(
            testDescription: "python with mapped memory",
            script: """
                python3 -c 'import mmap
                f = open("a.plist", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:3] = b"new"; m.close(); f.close()'
                """, tool: "python3"),
        .init(
            testDescription: "python with an unnamed file that is linked and renamed",
            script: """
                python3 -c 'import ctypes, os
                fd = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(fd, b"new")
                name = f"/proc/self/fd/{fd}".encode()
                assert ctypes.CDLL(None).linkat(-100, name, -100, b".t", 0x400) == 0
                os.replace(".t", "a.plist")'
                """, tool: "python3"),
        .init(
            testDescription: "python with RENAME_EXCHANGE",
            script: """
                python3 -c 'import ctypes
                open(".t", "w").write("new"); assert ctypes.CDLL(None).renameat2(-100, b".t", -100, b"a.plist", 2) == 0'
                """, tool: "python3"),
        .init(testDescription: "cp", script: "cp ../other a.plist"),
        .init(testDescription: "cp --remove-destination", script: "cp --remove-destination ../other a.plist"),
        .init(testDescription: "install", script: "install -m 600 ../other a.plist"),
        .init(testDescription: "mv from the directory above", script: "mv ../other a.plist"),
        .init(
            testDescription: "mv from another file system",
            script: "t=$(mktemp -p /dev/shm); echo new > $t; mv $t a.plist"),
        .init(testDescription: "rename", script: "mv a.plist b.plist", changed: ["a.plist", "b.plist"]),
        .init(testDescription: "move away", script: "mv a.plist ..", changed: ["a.plist"]),
        .init(testDescription: "remove", script: "rm a.plist"),
        .init(testDescription: "sed -i", script: "sed -i s/old/new/ a.plist"),
        .init(testDescription: "perl -i", script: "perl -i -pe s/old/new/ a.plist", tool: "perl"),
        .init(
            testDescription: "vim",
            script: "vim -Nu NONE -es -c 'set bk bex=~ bkc=auto' -c 's/old/new/' -c 'wq' a.plist", tool: "vim"),
        .init(testDescription: "a symbolic link", script: "ln -sf ../other a.plist"),
        .init(testDescription: "a hard link", script: "ln ../other b.plist", changed: ["b.plist"]),
        .init(testDescription: "touch", script: "touch a.plist"),
        .init(testDescription: "chmod", script: "chmod 600 a.plist"),
        .init(testDescription: "a directory", script: "mkdir b.plist", changed: ["b.plist"]),
        .init(
            testDescription: "in the subdirectory", script: "printf new > ByHost/a.h.plist",
            changed: ["ByHost/a.h.plist"]),
        .init(
            testDescription: "into the subdirectory", script: "mv a.plist ByHost/a.plist",
            changed: ["a.plist", "ByHost/a.plist"]),
        .init(
            testDescription: "irrelevant names",
            script: "printf x > .hidden.plist; printf x > x.txt; mkdir app; printf x > app/x.plist", changed: []),
    ]
}

extension WatcherTests {
    @Suite("Ways to save a file") struct Saving {
        @Test("Each way to save a file makes exactly its names dirty", arguments: SavePattern.runnable)
        func inotify(_ pattern: SavePattern) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                #expect(watcher.status.mode == .inotify)
                #expect(watcher.read() == DirtyNames(rescan: .started))
                try scratch.sh(pattern.script)
                #expect(watcher.taken() == DirtyNames(changed: pattern.changed))
            }
        }

        @Test("Polling finds the same names as inotify", arguments: SavePattern.runnable)
        func polling(_ pattern: SavePattern) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration(polling: .always)) { watcher in
                #expect(watcher.status.mode == .polling(.requested))
                #expect(watcher.read() == DirtyNames(rescan: .started))
                try watcher.settle()
                try scratch.sh(pattern.script)
                #expect(watcher.taken() == DirtyNames(changed: pattern.changed))
            }
        }

        @Test("Foundation's atomic write makes its name dirty")
        func foundation() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try Data("new".utf8).write(to: URL(fileURLWithPath: scratch.preferences + "/a.plist"), options: .atomic)
                #expect(watcher.taken() == DirtyNames(changed: ["a.plist"]))
            }
        }

        @Test("A file that was written and not closed counts as being written until it is closed")
        func beingWritten() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: scratch.preferences + "/a.plist"))
                try file.write(contentsOf: Data("half".utf8))
                #expect(watcher.taken() == DirtyNames(beingWritten: ["a.plist"]))
                try file.write(contentsOf: Data("whole".utf8))
                #expect(watcher.taken() == DirtyNames(beingWritten: ["a.plist"]))
                try file.close()
                #expect(watcher.taken() == DirtyNames(changed: ["a.plist"]))
            }
        }

        @Test("A switch of the link ..data, as Kubernetes updates a volume, marks a rescan")
        func dataLink() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try scratch.sh("mkdir ..1; ln -s ..1 ..data_tmp; mv -T ..data_tmp ..data")
                #expect(watcher.taken() == DirtyNames(rescan: .linkSwitched))
            }
        }

        @Test("Names that aren't UTF-8 are ignored and counted")
        func undecodable() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try scratch.sh("touch \"$(printf '\\377.plist')\"")
                #expect(watcher.taken().isEmpty)
                #expect(watcher.status.undecodableNames > 0)
            }
        }
    }
}
