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
                    #expect(watcher.read() == DirtyNames(rescan: .started), "nothing remains from before")
                    // These events aren't read before the stop, and the library must not return them later.
                    for name in 0..<50 { try scratch.write("new", to: "\(name).plist") }
                }
            }
            #expect(throws: WatcherError.self) { try DirectoryWatcher(.init(directory: "")) }
        }

        @Test("A watcher that is released stops and releases all resources")
        func released() async throws {
            await #expect(processExitsWith: .success) {
                let scratch = try Scratch()
                let before = try openFiles(below: scratch.path)
                try await watching(scratch.configuration()) { watcher in
                    #expect(watcher.status.mode == .inotify)
                    try #require(try openFiles(below: scratch.path) != before)
                }
                #expect(try openFiles(below: scratch.path) == before)
                try await watching(scratch.configuration()) { #expect($0.status.mode == .inotify) }
            }
        }

        @Test("A requested rescan is reported", arguments: [DirectoryWatcher.PollingChoice.automatic, .always])
        func requested(polling: DirectoryWatcher.PollingChoice) async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration(polling: polling)) { watcher in
                try watcher.settle()
                watcher.requestRescan()
                #expect(watcher.read().rescan == .requested)
            }
        }

        @Test("Polling finds a change in time")
        func polls() async throws {
            let scratch = try Scratch()
            var configuration = scratch.configuration(polling: .always)
            configuration.pollInterval = .milliseconds(20)
            try await watching(configuration) { watcher in
                try watcher.settle()
                try scratch.write("newer", to: "a.plist")
                #expect(try watcher.gather { !$0.changed.isEmpty } == DirtyNames(changed: ["a.plist"]))
            }
        }

        @Test("A file written before a read is reported by it, even while others are being written")
        func barrier() async throws {
            let scratch = try Scratch()
            let isDone = Flag()
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        // The two names alternate, so that the kernel can't merge their events.
                        while !Task.isCancelled, !isDone.value.load(ordering: .relaxed) {
                            for name in ["x.plist", "y.plist"] { try scratch.write("busy", to: name) }
                        }
                    }
                    for round in 0..<1000 {
                        try scratch.write("new", to: "\(round).plist")
                        try #require(watcher.taken().changed.contains("\(round).plist"), "round \(round)")
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
            try await watching(scratch.configuration()) { watcher in
                _ = watcher.read()
                let a = scratch.preferences + "/a.plist"
                let b = scratch.preferences + "/b.plist"
                for _ in 0...(limit / 4) {
                    rename(a, b)
                    rename(b, a)
                }
                let dirty = watcher.taken()
                #expect(dirty.rescan == .overflow)
                #expect(dirty.changed == ["a.plist", "b.plist"])
                #expect(watcher.status.overflows == 1)
                try scratch.write("new", to: "c.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["c.plist"]))
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
                try watcher.settle()
                try scratch.write("newer", to: "a.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["a.plist"]))

                for file in files { close(file) }
                files = []
                #expect(watcher.taken().rescan == .replaced)
                #expect(watcher.status.mode == .inotify)
                try scratch.write("new", to: "b.plist")
                #expect(watcher.taken() == DirtyNames(changed: ["b.plist"]))
            }
        }

        @Test("The watcher's descriptor isn't inherited by child processes")
        func inheritance() async throws {
            let scratch = try Scratch()
            try await watching(scratch.configuration()) { watcher in
                let descriptor = try #require(watcher.descriptor)
                #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
            }
        }

        @Test("The kernel sends the configured signal when events are queued, also on a new inotify instance")
        func signal() async throws {
            await #expect(processExitsWith: .success) {
                let scratch = try Scratch()
                var configuration = scratch.configuration()
                configuration.signal = SIGURG
                Glibc.signal(SIGURG) { _ in arrivals.add(1, ordering: .relaxed) }
                for round in 0..<3 {
                    try await watching(configuration) { watcher in
                        _ = watcher.read()
                        let before = arrivals.load(ordering: .relaxed)
                        try scratch.write("new", to: "\(round).plist")
                        watcher.waitForEvents(atMost: .seconds(300))
                        #expect(arrivals.load(ordering: .relaxed) > before)
                        #expect(watcher.read().changed == ["\(round).plist"])
                    }
                }
            }
        }

        @Test("An idle watcher is only due for its identity check, which takes little time")
        func idle() async throws {
            let scratch = try Scratch()
            var configuration = scratch.configuration()
            configuration.identityCheckInterval = .milliseconds(100)
            configuration.directory = scratch.path + "/l"
            try scratch.sh("ln -s preferences l", above: true)
            try await watching(configuration) { watcher in
                _ = watcher.read()
                let start = ContinuousClock.now
                var used = Duration.zero
                for _ in 0..<5 {
                    watcher.waitForEvents(atMost: watcher.timeUntilNextRead)
                    let before = threadTime()
                    #expect(watcher.read().isEmpty)
                    used += threadTime() - before
                }
                #expect(ContinuousClock.now - start >= .milliseconds(400))
                #expect(used / 5 < .milliseconds(2), "\(used / 5) for a check")
            }
        }
    }
}

/// The number of signals that have arrived.
private let arrivals = Atomic(0)

/// Returns the calling thread's CPU time.
private func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// A flag that tells another task that the test is over.
private final class Flag: Sendable {
    let value = Atomic(false)
}
