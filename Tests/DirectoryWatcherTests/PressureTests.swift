import DirectoryWatcher
import Foundation
import Synchronization
import Testing

extension WatcherTests {
    /// Tests of the watcher's life cycle and its limits.
    @Suite("Life cycle and limits") struct Pressure {
        @Test("Only one watcher can exist at a time, and another can be started after its stop")
        func single() async throws {
            let scratch = try Scratch()
            for _ in 0..<20 {
                try await watching(scratch.configuration()) { watcher in
                    let error = #expect(throws: WatcherError.self) { try DirectoryWatcher(scratch.configuration()) }
                    #expect(error?.code == .alreadyWatching)
                    #expect(watcher.dequeue() == DirtyNames(rescan: .started), "nothing remains from before")
                    // These events aren't read before the stop, and the library must not return them later.
                    for name in 0..<50 { try scratch.write("new", to: "\(name).plist") }
                }
            }
            #expect(throws: WatcherError.self) { try DirectoryWatcher(.init(directory: "")) }
        }

        @Test("A stop ends the stream and every drain, may be repeated, and releases all resources")
        func stop() async throws {
            await #expect(processExitsWith: .success) {
                let scratch = try Scratch()
                let before = try openFiles(below: scratch.path)
                let watcher = try DirectoryWatcher(scratch.configuration())
                let consumer = Task {
                    for await _ in watcher.ticks {}
                    return true
                }
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<100 { group.addTask { await watcher.drain() } }
                    group.addTask { watcher.stop() }
                    group.addTask { watcher.stop() }
                }
                #expect(await consumer.value)
                await watcher.drain()
                watcher.requestRescan()
                #expect(watcher.dequeue() == DirtyNames(rescan: .started))
                #expect(try openFiles(below: scratch.path) == before)
            }
        }

        @Test("A watcher without references stops")
        func dropped() async throws {
            let scratch = try Scratch()
            do { _ = try DirectoryWatcher(scratch.configuration()) }
            try await watching(scratch.configuration()) { #expect($0.status.mode == .inotify) }
        }

        @Test("A requested rescan causes a tick", arguments: [DirectoryWatcher.PollingChoice.automatic, .always])
        func requested(polling: DirectoryWatcher.PollingChoice) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration(polling: polling)) { watcher in
                try await watcher.settle()
                watcher.requestRescan()
                #expect(try await watcher.gather { $0.rescan != nil }.rescan == .requested)
            }
        }

        @Test("A change found by polling causes a tick")
        func pollTicks() async throws {
            let scratch = try Scratch()
            var configuration = scratch.configuration(polling: .always)
            configuration.pollInterval = .milliseconds(20)
            try await watching(configuration) { watcher in
                try await watcher.settle()
                try scratch.write("newer", to: "a.plist")
                #expect(try await watcher.gather { !$0.changed.isEmpty } == DirtyNames(changed: ["a.plist"]))
            }
        }

        @Test("A file written before a drain is reported after it, even while others are being written")
        func barrier() async throws {
            let scratch = try Scratch()
            let isDone = Flag()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.dequeue()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        // The two names alternate, so that the kernel can't merge their events.
                        while !Task.isCancelled, !isDone.value.load(ordering: .relaxed) {
                            for name in ["x.plist", "y.plist"] { try scratch.write("busy", to: name) }
                        }
                    }
                    for round in 0..<1000 {
                        try scratch.write("new", to: "\(round).plist")
                        try #require(await watcher.taken().changed.contains("\(round).plist"), "round \(round)")
                    }
                    isDone.value.store(true, ordering: .relaxed)
                    try await group.waitForAll()
                }
            }
        }

        @Test("An overflow of the kernel's queue marks a rescan, is counted, and leaves the watches intact")
        func overflow() async throws {
            let limit = try #require(
                Int(
                    String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
                        .trimmingCharacters(in: .whitespacesAndNewlines)))
            try #require(limit < 1_000_000)
            let scratch = try Scratch()
            let gate = DispatchSemaphore(value: 0)
            let reached = DispatchSemaphore(value: 0)
            var configuration = scratch.configuration()
            configuration.isRelevant = { name in
                // This blocks the watcher's thread.
                if name == "gate.plist" {
                    reached.signal()
                    gate.wait()
                }
                return isDomain(name)
            }
            try await watching(configuration) { watcher in
                _ = watcher.dequeue()
                try scratch.sh("mkdir gate.plist")  // one event
                wait(for: reached)
                let a = scratch.preferences + "/a.plist"
                let b = scratch.preferences + "/b.plist"
                for _ in 0...(limit / 4) {
                    rename(a, b)
                    rename(b, a)
                }
                gate.signal()
                let dirty = await watcher.taken()
                #expect(dirty.rescan == .overflow)
                #expect(dirty.changed == ["gate.plist", "a.plist", "b.plist"])
                #expect(watcher.status.overflows == 1)
                try scratch.write("new", to: "c.plist")
                #expect(await watcher.taken() == DirtyNames(changed: ["c.plist"]))
                #expect(watcher.status.rearms == 0)
            }
        }

        @Test("A watcher started with 1100 open files says why it polls, if it must, and returns to inotify")
        func descriptors() async throws {
            let scratch = try Scratch()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            try #require(limit.rlim_max >= 2048, "The hard limit of open files is too low for this test")
            if limit.rlim_cur < 2048 {
                limit.rlim_cur = 2048
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            }
            var files = (0..<1100).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
            defer { for file in files { close(file) } }
            var configuration = scratch.configuration()
            configuration.retryInterval = .zero
            try await watching(configuration) { watcher in
                if !usesLibrary {
                    #expect(watcher.status.mode == .inotify)
                    return
                }
                guard case .polling(.inotifyUnavailable(.descriptorTooHigh(let descriptor))) = watcher.status.mode
                else {
                    Issue.record("The mode is \(watcher.status.mode)")
                    return
                }
                #expect(descriptor >= 1024)
                #expect(watcher.status.mode.description.contains("above 1023"))
                try await watcher.settle()
                try scratch.write("newer", to: "a.plist")
                #expect(await watcher.taken() == DirtyNames(changed: ["a.plist"]))

                for file in files { close(file) }
                files = []
                #expect(await watcher.taken().rescan == .replaced)
                #expect(watcher.status.mode == .inotify)
                try scratch.write("new", to: "b.plist")
                #expect(await watcher.taken() == DirtyNames(changed: ["b.plist"]))
            }
        }

        @Test("The watcher's thread blocks all signals, and its descriptors aren't inherited by child processes")
        func inheritance() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { _ in
                let status = try String(contentsOfFile: watcherThread() + "/status", encoding: .utf8)
                let blocked = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") })
                // All are blocked except KILL and STOP, and the C library's two.
                #expect(blocked.hasSuffix("fffffffe3bfbfeff") || blocked.hasSuffix("fffffffe7ffbfeff"), "\(blocked)")
                let inotify = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0))
                        == "anon_inode:inotify"
                }
                #expect(inotify.count == 1)
                for descriptor in inotify.compactMap({ Int32($0) }) {
                    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
                }
            }
        }

        @Test("An idle watcher wakes up only for its identity check")
        func idle() async throws {
            let scratch = try Scratch()
            var configuration = scratch.configuration()
            configuration.identityCheckInterval = .milliseconds(100)
            configuration.directory = scratch.path + "/l"
            try scratch.sh("ln -s preferences l", above: true)
            try await watching(configuration) { watcher in
                await watcher.drain()
                let thread = try watcherThread()
                let before = try Self.schedule(thread)
                try await eventually { try Self.schedule(thread).runs >= before.runs + 10 }
                let after = try Self.schedule(thread)
                let each = (after.time - before.time) / Double(after.runs - before.runs)
                #expect(each < .milliseconds(2), "\(each) per check")
                #expect(watcher.dequeue().rescan == .started)
                print("idle: \(after.runs - before.runs) wake-ups, \(each) of CPU time each")
            }
        }

        /// Returns a thread's CPU time, and how often it was scheduled.
        private static func schedule(_ thread: String) throws -> (time: Duration, runs: Int) {
            let numbers = try String(contentsOfFile: thread + "/schedstat", encoding: .utf8)
                .split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            return (.nanoseconds(numbers[0]), numbers[2])
        }
    }
}

/// Waits for a semaphore from a task.
///
/// That is safe because the signaling thread isn't part of the tasks' pool.
private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

/// A flag that tells another task that the test is over.
private final class Flag: Sendable {
    let value = Atomic(false)
}
