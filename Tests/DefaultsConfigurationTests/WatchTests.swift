#if Configuration
import Configuration
import DefaultsConfiguration
import DefaultsKit
import PropertyList
import Testing

@Suite("Watches", .timeLimit(.minutes(1)))
struct WatchTests {
    @Test("A watch continues after a value that can't be read")
    func unreadable() async throws {
        let defaults = UserDefaults(inMemory: ["port": "http"])
        let provider = UserDefaultsProvider(defaults)
        try await provider.watchValue(forKey: "port", type: .int) { updates in
            var results = updates.makeAsyncIterator()
            let first = try await results.next()
            #expect(throws: UserDefaultsProviderError.self) { try first?.get() }
            defaults.set(80, forKey: "port")
            let second = try await results.next()?.get()
            #expect(second?.value == 80)
            defaults.removeObject(forKey: "port")
            let third = try await results.next()?.get()
            #expect(third == LookupResult(encodedKey: "port", value: nil))
        }
    }

    @Test("A watch of a path isn't notified of changes to its siblings")
    @MainActor
    func beside() async throws {
        let defaults = UserDefaults(inMemory: ["http": ["port": 80]])
        let provider = UserDefaultsProvider(defaults)
        try await provider.watchValue(forKey: "http.port", type: .int) { updates in
            var results = updates.makeAsyncIterator()
            let first = try await results.next()?.get()
            #expect(first?.value == 80)
            defaults.set(["port": 80, "host": "localhost"], forKey: "http")
            // Runs when the watch suspends here: by then it has seen the change to a sibling.
            Task { @MainActor in defaults.set(["port": 81], forKey: "http") }
            let second = try await results.next(isolation: MainActor.shared)?.get()
            #expect(second?.value == 81)
        }
    }

    @Test("A watch ends when its task is canceled", arguments: [false, true])
    func cancelled(ofSnapshots: Bool) async throws {
        let provider = UserDefaultsProvider(UserDefaults(inMemory: ["a": 1]))
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let task = Task {
            if ofSnapshots {
                return try await provider.watchSnapshot { updates in
                    var count = 0
                    for await _ in updates {
                        count += 1
                        beginning.yield()
                    }
                    return count
                }
            }
            return try await provider.watchValue(forKey: "a", type: .int) { updates in
                var count = 0
                for await _ in updates {
                    count += 1
                    beginning.yield()
                }
                return count
            }
        }
        for await _ in begun.prefix(1) { task.cancel() }
        let count = try await task.value
        #expect(count == 1)
    }
}
#endif
