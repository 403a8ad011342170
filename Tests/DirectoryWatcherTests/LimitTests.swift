import DirectoryWatcher
import Foundation
import Testing

/// The limit to test; `nil` in the process that starts the others.
///
/// In a user namespace, the kernel's limits can be lowered without affecting other processes. So the tests run
/// themselves again in one, as a separate process.
private let limit = ProcessInfo.processInfo.environment["WATCHER_TESTS_LIMIT"]

/// The number of watches that libinotifytools uses itself.
private let watchesOfLibrary = usesLibrary ? 1 : 0

extension WatcherTests {
    @Suite("The kernel's limits") struct Limits {
        @Test(
            "A watcher polls while the kernel refuses a watch or an instance",
            .enabled(if: try canUnshare()), arguments: ["max_inotify_watches", "max_inotify_instances"])
        func outside(limit: String) throws {
            try runAgain("Inside a namespace", limit: "/proc/sys/user/\(limit)", through: "unshare -Ur")
        }

        @Test("A watcher keeps its watches when descriptors run out", .enabled(if: limit == nil))
        func descriptors() throws {
            try runAgain("Without descriptors", limit: "descriptors", through: "")
        }

        private func runAgain(_ test: String, limit: String, through command: String) throws {
            let scratch = try Scratch()
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            try scratch.sh(
                """
                export WATCHER_TESTS_LIMIT=\(limit)
                \(command) '\(program)' --testing-library swift-testing --filter WatcherTests/Limits >out 2>&1 \
                    || { cat out; exit 1; }
                grep -q '\(test).*passed' out
                """)
        }

        @Test("Inside a namespace, a lowered limit makes the watcher poll", .enabled(if: limit?.hasPrefix("/") == true))
        func inside() async throws {
            let scratch = try Scratch()
            let path = try #require(limit)
            func setLimit(_ value: Int) throws { try scratch.sh("echo \(value) > \(path)") }
            // The limit allows all of the required watches but the last.
            try setLimit(path.hasSuffix("watches") ? 2 + watchesOfLibrary : 0)
            var configuration = scratch.configuration()
            configuration.retryInterval = .zero
            try await watching(configuration) { watcher in
                let text = watcher.status.mode.description
                #expect(text.hasPrefix("polling: no inotify") && text.contains("raise"), "\(text)")
                #expect(watcher.status.watches == 0)
                _ = watcher.taken()
                try scratch.write("newer", to: "a.plist")
                #expect(watcher.taken().changed == ["a.plist"])
                try setLimit(100)
                #expect(watcher.taken().rescan == .replaced)
                #expect(watcher.status.mode == .inotify)
                try scratch.write("new", to: "ByHost/b.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["ByHost/b.plist"]))
            }
        }

        @Test(
            "Inside a namespace, only the companion without a watch is polled",
            .enabled(if: limit?.hasSuffix("watches") == true), arguments: [3, 4])
        func companion(watches: Int) async throws {
            let scratch = try Scratch()
            try scratch.sh("mkdir -p system/ByHost", above: true)
            let path = scratch.path + "/system"
            // The directory gets all of its watches; the companion gets none, or one of two.
            try scratch.sh("echo \(watches + watchesOfLibrary) > \(try #require(limit))")
            var configuration = scratch.configuration()
            configuration.companions = [path]
            try await watching(configuration) { watcher in
                #expect(watcher.status.mode == .inotify)
                let text = watcher.status.companions[path]?.description ?? ""
                #expect(text.hasPrefix("polling: no inotify") && text.contains("raise"), "\(text)")
                try watcher.settle()
                try scratch.sh("echo new > system/a.plist; echo new > system/ByHost/b.plist", above: true)
                #expect(
                    watcher.taken() == DirtyNames(changed: [path + "/a.plist", path + "/ByHost/b.plist"]))
                try watcher.settle()
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["b.plist"]))
                try scratch.sh("echo 100 > \(try #require(limit))")
                #expect(watcher.taken().rescan == .replaced)
                #expect(watcher.status.companions[path] == .inotify)
                try scratch.sh("echo newer > system/ByHost/b.plist", above: true)
                #expect(watcher.taken() == DirtyNames(changed: [path + "/ByHost/b.plist"]))
            }
        }

        @Test(
            "Without descriptors, the watcher skips its checks and keeps its watches",
            .enabled(if: limit == "descriptors"))
        func exhausted() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: scratch.preferences + "/a.plist"))
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                let before = limit.rlim_cur
                limit.rlim_cur = 3
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                try file.write(contentsOf: Data("new".utf8))
                let dirty = watcher.taken()
                let status = watcher.status
                limit.rlim_cur = before
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                #expect(dirty == DirtyNames(beingWritten: ["a.plist"]))
                #expect(status.mode == .inotify && status.watches == 3)
                try file.close()
                #expect(watcher.taken() == DirtyNames(changed: ["a.plist"]))
            }
        }

        private static func canUnshare() throws -> Bool {
            guard limit == nil else { return false }
            return try Scratch().status(
                of: "unshare -Ur sh -c 'echo 9 >/proc/sys/user/max_inotify_watches' 2>/dev/null") == 0
        }
    }
}
