import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Locks and file systems that hinder the agent, and must not hold up anything unrelated.
@Suite("Obstacles", .enabled(if: ForeignProcess.hasPython))
struct ObstacleTests {
    private static let domain = "org.example.app"

    /// Returns the follower's next event other than a bookmark.
    private func next(_ follower: Follower) throws -> String? {
        while let event = try follower.connection.nextEvent(within: 10_000) {
            if case .bookmark = event { continue }
            return Follower.text(event)
        }
        return nil
    }

    @Test("While another process holds the lock, file changes are reported, and edits are saved afterwards")
    func lock() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            let holder = try ForeignProcess(
                python: """
                    import fcntl, os, sys
                    file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
                    fcntl.flock(file, fcntl.LOCK_EX)
                    print("locked", flush=True)
                    sys.stdin.readline()
                    os.unlink(sys.argv[1])
                    """, ["\(agent.place.preferences)/\(DirectoryLock.fileName)"])
            #expect(holder.line() == "locked")
            let write = try agent.start("write", Self.domain, "a", "1")
            #expect(try next(follower) == "\(Self.domain): a ->1 (app)")
            // Only an agent that doesn't wait for the lock can report these before it is released.
            for number in 1...3 {
                try agent.shell("printf '{ n = \(number); }' > ../new; mv ../new other.plist")
                #expect(try next(follower) == "other: n \(number == 1 ? "-" : "\(number - 1)")>\(number) (file)")
            }
            #expect(!RawFile.exists(agent.place.path(Self.domain)))
            try holder.remainder()
            #expect(write.status(within: 30) == 0)
            #expect(try PropertyListValue(parsing: RawFile.read(agent.place.path(Self.domain))) == ["a": "1"])
        }
    }

    @Test("An edit that is too large for its file is reported, and doesn't keep other edits from the file")
    func tooLarge() throws {
        try AgentProcess.withPlace { place in
            let xml = "<plist><dict><key>MaximumFileSize</key><integer>4096</integer></dict></plist>"
            try RawFile.write(xml, to: place.path("org.defaultsd.agent"))
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let follower = try agent.follow()
            let large = String(repeating: "x", count: 5_000)
            let outcome = try agent.defaults("write", Self.domain, "large", large)
            #expect(outcome.status == 65 && outcome.errors.contains("Can't save \"large\"."), "\(outcome)")
            for key in ["a", "b"] {
                try agent.connect().edit(Domain(DomainName(Self.domain)), with: [key: 1], replacesAll: false)
                #expect(try agent.defaults("sync", Self.domain).status == 74)
            }
            let path = place.path(Self.domain)
            #expect(try PropertyListValue(parsing: RawFile.read(path)) == ["a": 1, "b": 1])
            // It is reported once.
            let events = try follower.changes()
            #expect(events.filter { !$0.contains(">") } == ["\(Self.domain): unsaved"])
            #expect(try agent.defaults("write", Self.domain, "large", "small").status == 0)
            #expect(try PropertyListValue(parsing: RawFile.read(path)) == ["a": 1, "b": 1, "large": "small"])
        }
    }

    @Test("An edit that alone is too large for its file is refused, and fails no other client's `sync`")
    func refusedEdit() throws {
        try AgentProcess.withAgent(prepare: {
            let xml = "<plist><dict><key>MaximumFileSize</key><integer>80000</integer></dict></plist>"
            try RawFile.write(xml, to: $0.path("org.defaultsd.agent"))
        }) { agent in
            let follower = try agent.follow()
            let outcome = try agent.defaults("write", Self.domain, "large", String(repeating: "x", count: 90_000))
            #expect(outcome.status == 65, "\(outcome)")
            #expect(outcome.errors.contains("\"large\"") && outcome.errors.contains("80000 bytes"), "\(outcome)")
            #expect(try agent.defaults("sync", Self.domain).status == 0)
            #expect(try agent.defaults("write", Self.domain, "a", "1").status == 0)
            #expect(try PropertyListValue(parsing: RawFile.read(agent.place.path(Self.domain))) == ["a": "1"])
            #expect(try follower.changes() == ["\(Self.domain): a ->1 (app)"])
        }
    }

    @Test(
        "What a program has written to a displaced file and closed is merged before `sync` returns",
        arguments: [false, true])
    func closedDisplacedFile(endsAgent: Bool) throws {
        try AgentProcess.withAgent { first in
            var agent = first
            let path = agent.place.path(Self.domain)
            try agent.defaults("write", Self.domain, "old", "1")
            var file: FileDescriptor? = try FileDescriptor(opening: path, O_RDWR)
            // The agent replaces the file after a second, although it is open for writing.
            #expect(try agent.defaults("write", Self.domain, "mine", "1").status == 0)
            #expect(file?.isNamed(path) == false)
            if endsAgent {
                first.kill()
                agent = try AgentProcess(first.place)
            }
            defer { agent.kill() }
            try file?.write(PropertyListValue.dictionary(["old": "1", "theirs": "1"]).write(as: .xml))
            file = nil
            #expect(try agent.defaults("sync", Self.domain).status == 0)
            #expect(try PropertyListValue(parsing: RawFile.read(path)) == ["old": "1", "mine": "1", "theirs": "1"])
        }
    }

    @Test("While a save waits for a slow disk, clients are served, and other files' changes are reported")
    func slowDisk() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            // This delays the last step of a save, by longer than the test takes.
            let fault = try AttachedFault(agent.pid, at: [agent.place.preferences], "fsync:delay_enter=60000000")
            let write = try agent.start("write", Self.domain, "a", "1")
            #expect(try next(follower) == "\(Self.domain): a ->1 (app)")
            #expect(eventually { RawFile.exists(agent.place.path(Self.domain)) })
            for number in 1...3 {
                try agent.shell("printf '{ n = \(number); }' > ../new; mv ../new other.plist")
                #expect(try next(follower) == "other: n \(number == 1 ? "-" : "\(number - 1)")>\(number) (file)")
                #expect(try agent.defaults("read", "other", "n").output == "\(number)\n")
            }
            // A file that is being saved is read afterwards.
            try agent.shell("printf '{ a = 2; }' > ../new; mv ../new \(Self.domain).plist")
            #expect(write.isRunning)
            fault.end()
            #expect(try next(follower) == "\(Self.domain): a 1>2 (file)")
            #expect(write.status(within: 30) == 0)
        }
    }

    @Test("A lock on the directory itself doesn't delay a save")
    func directoryLock() throws {
        try AgentProcess.withAgent { agent in
            let directory = open(agent.place.preferences, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            defer { close(directory) }
            #expect(flock(directory, LOCK_EX | LOCK_NB) == 0)
            let outcome = try agent.defaults("write", Self.domain, "a", "1")
            #expect(outcome.status == 0)
        }
    }

    /// Runs a test on an ext4 file system with inodes of 128 bytes, whose times are whole seconds.
    private func withCoarseFileSystem(_ body: (AgentProcess.Place) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            try Programs.shell(
                """
                truncate -s 8M image
                mkfs.ext4 -q -I 128 image
                mount -o loop image p
                """, in: place.root)
            defer { _ = try? Programs.shell("umount p", in: place.root) }
            try body(place)
        }
    }

    /// Whether such a file system can be created and mounted here, which needs root and loop devices.
    private static let hasCoarseFileSystem: Bool = {
        let script = "truncate -s 8M image; mkfs.ext4 -q -I 128 image; mkdir p; mount -o loop image p; umount p"
        let isPossible = try? withTemporaryDirectory { try Programs.shell(script, in: $0).status == 0 }
        return isPossible ?? false
    }()

    @Test(
        "No rewrite of the same size is missed where file times are whole seconds", .enabled(if: hasCoarseFileSystem))
    func coarseTimes() throws {
        try withCoarseFileSystem { place in
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try agent.shell("printf '{ size = 10; }' > a.b.plist")
            #expect(try agent.defaults("sync").status == 0)
            let follower = try agent.follow()
            for size in 11...30 {
                try follower.expect(["a.b: size \(size - 1)>\(size) (file)"]) {
                    try agent.shell("printf '{ size = \(size); }' > a.b.plist")
                }
                #expect(try agent.defaults("read", "a.b", "size").output == "\(size)\n")
            }
        }
    }
}
