import DirectoryWatcher
import Foundation
import Synchronization
import Testing

extension WatcherTests {
    /// The watcher's own life, and its limits.
    @Suite struct Pressure {
        @Test("One watcher lives at a time; after its stop, another can be started")
        func single() async throws {
            let scratch = try Scratch()
            for _ in 0..<20 {
                try await watching(scratch.configuration()) { watcher in
                    let error = #expect(throws: WatcherError.self) { try DirectoryWatcher(scratch.configuration()) }
                    #expect(error?.code == .alreadyWatching)
                    #expect(watcher.take() == DirtyNames(rescan: .started), "nothing is left of the watcher before")
                    // Events that nobody reads before the stop: the library would bring them up again.
                    for name in 0..<50 { try scratch.write("new", to: "\(name).plist") }
                }
            }
            #expect(throws: WatcherError.self) { try DirectoryWatcher(.init(directory: "")) }
        }

        @Test("A stop ends the stream and every drain, may come twice, and gives everything back")
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
                #expect(watcher.take() == DirtyNames(rescan: .started))
                #expect(try openFiles(below: scratch.path) == before)
            }
        }

        @Test("A watcher that nobody keeps stops by itself")
        func dropped() async throws {
            let scratch = try Scratch()
            do { _ = try DirectoryWatcher(scratch.configuration()) }
            try await watching(scratch.configuration()) { #expect($0.status.mode == .inotify) }
        }

        @Test("A requested rescan ticks", arguments: [DirectoryWatcher.PollingChoice.automatic, .always])
        func requested(polling: DirectoryWatcher.PollingChoice) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration(polling: polling)) { watcher in
                try await watcher.settle()
                watcher.requestRescan()
                #expect(try await watcher.gather { $0.rescan != nil }.rescan == .requested)
            }
        }

        @Test("Polling ticks by itself")
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

        @Test("What was written before a drain can be taken after it, whatever else is being written")
        func barrier() async throws {
            let scratch = try Scratch()
            let isDone = Flag()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.take()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        // Two names in turn, so that the kernel can't merge their events.
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

        @Test("An overflow of the kernel's queue rescans, is counted, and leaves the watches whole")
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
                // Keeps the thread from reading on.
                if name == "gate.plist" {
                    reached.signal()
                    gate.wait()
                }
                return isDomain(name)
            }
            try await watching(configuration) { watcher in
                _ = watcher.take()
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

        @Test("Among 1100 open files the watcher polls and says why, and goes back to inotify when it can")
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

        @Test("The thread takes no signals, and its descriptors don't go to child processes")
        func inheritance() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { _ in
                let status = try String(contentsOfFile: watcherThread() + "/status", encoding: .utf8)
                let blocked = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") })
                // All but KILL and STOP, and the two of the C library.
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

        @Test("An idle watcher sleeps: it wakes for its identity check alone")
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
                #expect(each < .milliseconds(2), "\(each) a check")
                #expect(watcher.take().rescan == .started)
                print("idle: \(after.runs - before.runs) wake-ups, \(each) of CPU time each")
            }
        }

        /// How much CPU time a thread has had, and how many times.
        private static func schedule(_ thread: String) throws -> (time: Duration, runs: Int) {
            let numbers = try String(contentsOfFile: thread + "/schedstat", encoding: .utf8)
                .split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            return (.nanoseconds(numbers[0]), numbers[2])
        }
    }
}

/// Waits for a semaphore, from a task: the thread that signals it isn't one of the tasks' threads.
private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

/// Tells another task that the test is over.
private final class Flag: Sendable {
    let value = Atomic(false)
}
