import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// A real disk that is full, and later has space again.
@Suite("A full disk", .enabled(if: SmallFileSystem.isAvailable))
struct FullDiskTests {
    private static let reason = "No space left on device"

    /// Fills a disk to its last byte.
    private func fill(_ disk: SmallFileSystem) throws {
        let fd = open(disk.path + "/fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(fd) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(fd, block, block.count) > 0 {}
        guard errno == ENOSPC else { throw TestSystemError("fill") }
    }

    private func values(_ path: String) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(path))
    }

    @Test("An edit on a full disk is kept, reported once, and saved without a request once there is space")
    func preferences() throws {
        try AgentProcess.withPlace { root in
            let disk = try SmallFileSystem(at: root.preferences, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: disk.path, runtime: root.runtime)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try agent.defaults("write", "a.b", "key", "before")
            let follower = try agent.follow()
            _ = try follower.changes()
            try fill(disk)

            for _ in 0..<2 {
                let outcome = try agent.defaults("write", "a.b", "key", "after")
                #expect(outcome.status == 74 && outcome.errors.contains(Self.reason), "\(outcome)")
                let sync = try agent.defaults("sync")
                #expect(sync.status == 74 && sync.errors.contains(Self.reason), "\(sync)")
            }
            #expect(try agent.defaults("write", "c.d", "new", "1").status == 74)
            let status = try agent.defaults("status").output
            #expect(status.contains(Self.reason) && status.contains("a.b: 1 edit not saved yet"), "\(status)")
            #expect(try agent.defaults("read", "a.b", "key").output == "after\n")
            #expect(try values(place.path("a.b")) == ["key": "before"])
            let names = namesOfFiles(in: disk.path).filter { !$0.hasPrefix(".defaultsd.") }
            #expect(names == ["a.b.plist", "fill"])
            let events = try follower.changes()
            #expect(
                events == [
                    "a.b: key before>after (app)", "a.b: unsaved", "c.d: new ->1 (app)", "c.d: unsaved",
                ])

            unlink(disk.path + "/fill")
            let isSaved = try eventually(within: 60) {
                let status = try agent.status()
                return status["pending"] == [] && status["errors"] == []
            }
            #expect(isSaved)
            #expect(try values(place.path("a.b")) == ["key": "after"])
            #expect(try values(place.path("c.d")) == ["new": "1"])
            let recovery = try follower.changes()
            #expect(recovery.sorted() == ["a.b: recovered", "c.d: recovered"])
            agent.terminate()
            let lines = agent.complaints().split(separator: "\n")
            #expect(lines.count { $0.contains("a.b could not be saved") } == 1, "\(lines)")
            #expect(lines.count { $0.contains("a.b recovered") } == 1, "\(lines)")
        }
    }

    @Test(
        "Once a full disk has space, the next sync saves the history, or the end of the agent",
        arguments: [true, false])
    func history(isSynchronized: Bool) throws {
        try AgentProcess.withPlace { root in
            try RawFile.makeDirectory(root.state)
            let disk = try SmallFileSystem(at: root.state, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: root.preferences, runtime: root.runtime, state: disk.path)
            let first = try AgentProcess(place)
            defer { first.kill() }
            try fill(disk)
            try first.defaults("write", "a.b", "key", String(repeating: "x", count: 8_000))
            #expect(try first.status()["errors"] != [])
            let history = try first.defaults("log", "--json", "a.b").output
            #expect(history.contains("\"app\""))
            unlink(disk.path + "/fill")
            if isSynchronized {
                #expect(try first.defaults("sync").status == 0)
                first.kill()
            } else {
                first.terminate()
            }
            let second = try AgentProcess(place)
            defer { second.kill() }
            #expect(try second.defaults("log", "--json", "a.b").output == history)
        }
    }

    @Test("A full disk under the change log is reported and blocks no edit, and the log resumes afterwards")
    func changeLog() throws {
        try AgentProcess.withPlace { root in
            try RawFile.makeDirectory(root.state)
            let disk = try SmallFileSystem(at: root.state, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: root.preferences, runtime: root.runtime, state: disk.path)
            let agent = try AgentProcess(place)
            let follower = try agent.follow()
            _ = try follower.changes()
            try fill(disk)
            // More than fits in the rest of the log's last page.
            let long = String(repeating: "x", count: 8_000)
            #expect(try agent.defaults("write", "a.b", "key", long).status == 0)
            #expect(try values(place.path("a.b")) == ["key": .string(long)])
            let status = try agent.defaults("status").output
            #expect(status.contains("change log") && status.contains(Self.reason), "\(status)")
            // Each retry fails and leaves no file behind.
            for _ in 0..<100 { try agent.synchronize() }
            #expect(namesOfFiles(in: disk.path).filter { $0.hasSuffix(".new") } == [])

            unlink(disk.path + "/fill")
            let isKept = try eventually(within: 60) { try agent.status()["errors"] == [] }
            #expect(isKept)
            _ = try follower.changes()
            try agent.defaults("write", "a.b", "after", "1")
            agent.kill()
            let next = try AgentProcess(place)
            defer { next.kill() }
            #expect(try next.follow(.after(follower.cursor)).changes() == ["a.b: after ->1 (app)"])
        }
    }

    @Test("An agent that is killed while its log's disk is full leaves the history, and the edits up to then")
    func killedWithFullDisk() throws {
        try AgentProcess.withPlace { root in
            try RawFile.makeDirectory(root.state)
            let disk = try SmallFileSystem(at: root.state, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: root.preferences, runtime: root.runtime, state: disk.path)
            let agent = try AgentProcess(place)
            for value in ["one", "two"] { try agent.defaults("write", "a.b", "key", value) }
            let follower = try agent.follow()
            _ = try follower.changes()
            try fill(disk)
            let long = String(repeating: "x", count: 8_000)
            try agent.defaults("write", "a.b", "key", long)
            try agent.defaults("write", "a.b", "key", "three")
            agent.kill()
            // The disk is still full.
            let next = try AgentProcess(place)
            let log = try next.defaults("log", "a.b").output
            #expect(log.contains("\"one\" → \"two\""), "\(log)")
            #expect(try next.defaults("read", "a.b", "key").output == "three\n")
            #expect(try next.follow(.after(follower.cursor)).changes().first == "gap")
            unlink(disk.path + "/fill")
            let isKept = try eventually(within: 60) { try next.status()["errors"] == [] }
            #expect(isKept)
            try next.defaults("write", "a.b", "key", "four")
            next.kill()
            let last = try AgentProcess(place)
            defer { last.kill() }
            let whole = try last.defaults("log", "a.b").output
            #expect(whole.contains("\"three\" → \"four\"") && whole.contains("\"one\" → \"two\""), "\(whole)")
        }
    }

    @Test(
        "A restart waits until edits are saved that the change log can't keep", arguments: [true, false])
    func restart(isLogFull: Bool) throws {
        try AgentProcess.withPlace { root in
            try RawFile.makeDirectory(root.state)
            let disks = try [root.preferences, root.state].map { try SmallFileSystem(at: $0, bytes: 128 << 10) }
            let place = AgentProcess.Place(
                preferences: disks[0].path, runtime: root.runtime, state: disks[1].path)
            let ready = try ReadySocket()
            let agent = try RunningProgram(
                Programs.defaultsd, [], environment: place.environment.merging(["NOTIFY_SOCKET": ready.name]) { $1 })
            try #require(eventually { ready.hasCome() })
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                try Programs.run(Programs.defaults, arguments, environment: place.environment)
            }
            if !isLogFull {
                try #require(defaults("write", "org.defaultsd.agent", "HistoryExcludes", "-array", "*/key").status == 0)
            }
            try #require(defaults("write", "a.b", "key", "before").status == 0)
            try disks[..<(isLogFull ? 2 : 1)].forEach(fill)
            let long = String(repeating: "x", count: 8_000)
            #expect(try defaults("write", "a.b", "key", long).status == 74)

            agent.signal(SIGUSR2)
            let isReported = try eventually { try defaults("status").output.contains("keeps running until") }
            #expect(isReported)
            #expect(try defaults("read", "a.b", "key").output == long + "\n")
            #expect(!ready.states().contains("RELOADING=1"))
            for disk in disks { unlink(disk.path + "/fill") }
            #expect(try defaults("sync").status == 0)
            try #require(eventually { ready.hasCome(times: 2) })
            #expect(try defaults("read", "a.b", "key").output == long + "\n")
            #expect(try !defaults("status").output.contains("keeps running until"))
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
            #expect(agent.complaints().contains("Edits of a.b can be neither saved nor written to the change log"))
        }
    }

    @Test("An agent that ends saves edits that the change log can't keep if there is space within seconds")
    func end() throws {
        try AgentProcess.withPlace { root in
            try RawFile.makeDirectory(root.state)
            let disks = try [root.preferences, root.state].map { try SmallFileSystem(at: $0, bytes: 128 << 10) }
            let agent = try AgentProcess(
                AgentProcess.Place(preferences: disks[0].path, runtime: root.runtime, state: disks[1].path))
            try agent.defaults("write", "a.b", "key", "before")
            try disks.forEach(fill)
            let long = String(repeating: "x", count: 8_000)
            #expect(try agent.defaults("write", "a.b", "key", long).status == 74)
            let watcher = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
            defer { close(watcher) }
            #expect(inotify_add_watch(watcher, disks[0].path, UInt32(IN_CREATE)) >= 0)
            agent.signal(SIGTERM)
            // Each attempt creates a temporary file. The agent makes three while it ends, whatever their outcome.
            var attempts = 0
            _ = eventually {
                var events = [UInt8](repeating: 0, count: 1 << 16)
                let count = max(0, read(watcher, &events, events.count))
                attempts += String(decoding: events[..<count], as: UTF8.self).ranges(of: ".defaultsd.0.").count
                return attempts > 4 || !agent.isRunning
            }
            for disk in disks { unlink(disk.path + "/fill") }
            #expect(agent.status(within: 30) == 0)
            #expect(try values(agent.place.path("a.b")) == ["key": .string(long)])
        }
    }

    @Test("A tail's agent doesn't hand over, or end, before edits are saved that the change log can't keep")
    func handover() throws {
        try AgentProcess.withPlace { root in
            let disk = try SmallFileSystem(at: root.preferences, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: disk.path, runtime: root.runtime)
            let tail = try RunningProgram(Programs.defaults, ["tail", "--json"], environment: place.environment)
            _ = try tail.objects(upTo: "ready")
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                try Programs.run(Programs.defaults, arguments, environment: place.environment)
            }
            try #require(defaults("write", "org.defaultsd.agent", "HistoryExcludes", "-array", "*/key").status == 0)
            try #require(defaults("write", "a.b", "key", "before").status == 0)
            try fill(disk)
            let long = String(repeating: "x", count: 8_000)
            #expect(try defaults("write", "a.b", "key", long).status == 74)
            tail.signal(SIGKILL)
            _ = tail.status()

            let refused = try RunningProgram(Programs.defaultsd, [], environment: place.environment)
            #expect(refused.status() == 75)
            #expect(try defaults("read", "a.b", "key").output == long + "\n")
            unlink(disk.path + "/fill")
            #expect(try defaults("sync").status == 0)
            #expect(try values(place.path("a.b")) == ["key": .string(long)])
            let hasEnded = eventually { !RawFile.exists(place.socket) }
            #expect(hasEnded)
        }
    }

    @Test(
        "An app's failed save reports the full disk with its errno, with and without an agent",
        arguments: [true, false])
    func app(hasAgent: Bool) throws {
        try AgentProcess.withPlace { root in
            let disk = try SmallFileSystem(at: root.preferences, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: disk.path, runtime: root.runtime)
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let client = Client(.success(try Location(environment: Environment(place.environment))))
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "a.b", in: client))
            #expect(defaults.synchronize())
            try fill(disk)
            defaults.set(1, forKey: "key")
            for _ in 0..<2 {
                let problem = #expect(throws: DefaultsProblem.self) { try defaults.save() }
                #expect(problem?.code == .saving)
                #expect(problem?.errno == ENOSPC)
                #expect(problem?.description.contains(Self.reason) == true, "\(String(describing: problem))")
                #expect(!defaults.synchronize())
            }
            #expect(defaults.integer(forKey: "key") == 1)
            unlink(disk.path + "/fill")
            try defaults.save()
            #expect(try values(place.path("a.b")) == ["key": 1])
        }
    }
}
