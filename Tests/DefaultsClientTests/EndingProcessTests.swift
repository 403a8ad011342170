import DefaultsCore
import Linux
import ProgramSupport
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("Edits of a process that is ending", .timeLimit(.minutes(5)))
struct EndingProcessTests {
    /// Sets keys by one edit.
    private func setKeys(_ count: Int, in client: Client) throws {
        let values = (1...count).map { ("key\($0)", PropertyListValue.integer(Int64($0))) }
        let edit = Difference(uniqueKeysWithValues: values)
        #expect(client.edit(Domain(try DomainName("org.example.app")), with: edit).isEmpty)
    }

    @Test("While an edit is worked on, the process waits for it")
    func busy() throws {
        try ScratchPlace.with { place in
            let client = try place.client()
            try setKeys(60_000, in: client)
            client.handOver(patience: 1_000)
            #expect(try place.read(place.preferences + "/org.example.app.plist").count == 60_000)
            client.close()
        }
    }

    @Test("Edits that can't be saved because another process has the lock are abandoned once")
    func locked() throws {
        try ScratchPlace.withClient { place, client in
            let lock = try DirectoryLock(PreferencesDirectory(path: place.preferences))
            try setKeys(1, in: client)
            #expect(client.state.withLock { $0.mustHandOver })
            client.handOver(patience: 1_000)
            #expect(!client.state.withLock { $0.mustHandOver })
            #expect(client.state.withLock { !$0.unsaved.isEmpty })
            try setKeys(2, in: client)
            #expect(client.state.withLock { $0.mustHandOver })
            _ = lock.unlock()
        }
    }
}
