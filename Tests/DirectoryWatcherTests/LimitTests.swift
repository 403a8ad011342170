import DirectoryWatcher
import Foundation
import Testing

/// The kernel's limits, which can be lowered in a user namespace without touching anyone else's: the tests run again in
/// one, as a process of their own.
private let limit = ProcessInfo.processInfo.environment["WATCHER_TESTS_LIMIT"]

extension WatcherTests {
    @Suite struct Limits {
        @Test(
            "Where the kernel gives no watch or no instance, the watcher polls until it does",
            .enabled(if: try canUnshare()), arguments: ["max_inotify_watches", "max_inotify_instances"])
        func outside(limit: String) throws {
            let scratch = try Scratch()
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            try scratch.sh(
                """
                export WATCHER_TESTS_LIMIT=/proc/sys/user/\(limit)
                unshare -Ur '\(program)' --testing-library swift-testing --filter WatcherTests/Limits >out 2>&1 \
                    || { cat out; exit 1; }
                grep -q 'Inside a namespace.*passed' out
                """)
        }

        @Test("Inside a namespace, a lowered limit makes the watcher poll", .enabled(if: limit != nil))
        func inside() async throws {
            let scratch = try Scratch()
            let path = try #require(limit)
            func setLimit(_ value: Int) throws { try scratch.sh("echo \(value) > \(path)") }
            // Of the watches that are needed, all but the last can be had.
            try setLimit(path.hasSuffix("watches") ? 3 : 0)
            var configuration = scratch.configuration()
            configuration.retryInterval = .zero
            try await watching(configuration) { watcher in
                let text = watcher.status.mode.description
                #expect(text.hasPrefix("polling: no inotify") && text.contains("raise"), "\(text)")
                #expect(watcher.status.watches == 0)
                _ = await watcher.taken()
                try scratch.write("newer", to: "a.plist")
                #expect(await watcher.taken().changed == ["a.plist"])
                try setLimit(100)
                #expect(await watcher.taken().rescan == .replaced)
                #expect(watcher.status.mode == .inotify)
                try scratch.write("new", to: "ByHost/b.plist")
                #expect(await watcher.taken() == DirtyNames(changed: ["ByHost/b.plist"]))
            }
        }

        private static func canUnshare() throws -> Bool {
            guard limit == nil else { return false }
            return try Scratch().status(
                of: "unshare -Ur sh -c 'echo 9 >/proc/sys/user/max_inotify_watches' 2>/dev/null") == 0
        }
    }
}
