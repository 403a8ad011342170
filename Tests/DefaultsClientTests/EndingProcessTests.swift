import DefaultsCore
import Linux
import ProgramSupport
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("Edits of a process that is ending", .timeLimit(.minutes(5)))
struct EndingProcessTests {
    /// The lock for saving, as another process has it.
    private final class ForeignLock {
        private let lock: DirectoryLock

        init(_ place: ScratchPlace) throws {
            lock = try DirectoryLock(PreferencesDirectory(path: place.preferences))
        }

        func release() { _ = lock.unlock() }
    }

    /// Sets a key while another process has the lock, and runs a test that lets the process end.
    private static func end(_ body: (ScratchPlace, Client, ForeignLock) throws -> Void) throws {
        try ScratchPlace.withClient { place, client in
            let lock = try ForeignLock(place)
            try set("k", in: client)
            #expect(client.state.withLock { $0.mustHandOver })
            try body(place, client, lock)
            lock.release()
        }
    }

    private static func set(_ key: String, in client: Client) throws {
        #expect(client.edit(Domain(try DomainName("org.example.app")), with: [key: 1]).isEmpty)
    }

    @Test("The process waits for its edits as long as they are worked on")
    func busy() throws {
        try Self.end { place, client, lock in
            var work = 0
            client.handOver(timeout: 100) {
                work += 50
                if work == 200 { lock.release() }
                return work
            }
            #expect(work >= 200)
            let values = try place.read(place.preferences + "/org.example.app.plist")
            #expect(values == ["k": 1])
        }
    }

    @Test("The process doesn't wait again for edits that it couldn't save in time, but for later ones")
    func idle() throws {
        try Self.end { _, client, _ in
            client.handOver(timeout: 100) { 0 }
            #expect(client.state.withLock { !$0.mustHandOver && !$0.unsaved.isEmpty })
            try Self.set("l", in: client)
            #expect(client.state.withLock { $0.mustHandOver })
        }
    }

    @Test("The process doesn't wait again for the lock that another process has kept")
    func locked() throws {
        try Self.end { _, client, _ in
            client.handOver()
            #expect(client.state.withLock { !$0.mustHandOver && !$0.unsaved.isEmpty })
        }
    }

    @Test("A thread's clock goes on while the thread works")
    func clock() throws {
        let clock = try #require(ThreadClock.ofThisThread)
        let start = try #require(clock.milliseconds)
        while clock.milliseconds ?? 0 < start + 20 {}
    }
}
