#if Configuration
import Configuration
import DefaultsConfiguration
import DefaultsKit
import PropertyList
import Testing

@Suite("Changes by another process", .timeLimit(.minutes(1)))
struct LiveTests {
    @Test("A change by another process is pushed to a watch of a key")
    func watchedKey() async throws {
        try await withSharedPlace { ours, others in
            let config = ConfigReader(provider: UserDefaultsProvider(ours))
            try await config.watchInt(forKey: "http.port", default: 80) { updates in
                var ports = updates.makeAsyncIterator()
                let first = try await ports.next()
                #expect(first == 80)
                others.set(8080, forKey: "http.port")
                #expect(others.synchronize())
                let second = try await ports.next()
                #expect(second == 8080)
                others.removeObject(forKey: "http.port")
                #expect(others.synchronize())
                let third = try await ports.next()
                #expect(third == 80)
                others.set(["port": 81], forKey: "http")
                #expect(others.synchronize())
                let fourth = try await ports.next()
                #expect(fourth == 81)
            }
        }
    }

    @Test("A change by another process is pushed to a watch of all values")
    func watchedSnapshot() async throws {
        try await withSharedPlace { ours, others in
            let environment = EnvironmentVariablesProvider(environmentVariables: ["HTTP_HOST": "localhost"])
            let config = ConfigReader(providers: [environment, UserDefaultsProvider(ours)])
            try await config.watchSnapshot { updates in
                var snapshots = updates.makeAsyncIterator()
                let before = try await snapshots.next()
                #expect(before?.int(forKey: "http.port") == nil)
                #expect(before?.string(forKey: "http.host") == "localhost")
                others.withTransaction { values in
                    values.set(8080, forKey: "http.port")
                    values.set("example.org", forKey: "http.host")
                }
                #expect(others.synchronize())
                let after = try await snapshots.next()
                #expect(after?.int(forKey: "http.port") == 8080)
                #expect(after?.string(forKey: "http.host") == "localhost")
                #expect(before?.int(forKey: "http.port") == nil)
            }
        }
    }

    @Test("A fetch returns a change that another process made before")
    func fetched() async throws {
        try await withSharedPlace { ours, others in
            let config = ConfigReader(provider: UserDefaultsProvider(ours))
            for port in 8080..<8100 {
                others.set(port, forKey: "http.port")
                #expect(others.synchronize())
                let fetched = try await config.fetchInt(forKey: "http.port")
                #expect(fetched == port)
                #expect(config.int(forKey: "http.port") == port)
            }
        }
    }

    @Test("A thousand concurrent fetches return a change that another process made before")
    func fetchedByMany() async throws {
        try await withSharedPlace { ours, others in
            let config = ConfigReader(provider: UserDefaultsProvider(ours))
            others.set(8080, forKey: "http.port")
            #expect(others.synchronize())
            try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<1_000 { group.addTask { try await config.fetchInt(forKey: "http.port") } }
                for try await port in group { #expect(port == 8080) }
            }
        }
    }

    @Test("A fetch by a canceled task throws CancellationError")
    func canceled() async throws {
        try await withSharedPlace { ours, _ in
            let config = ConfigReader(provider: UserDefaultsProvider(ours))
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await config.fetchInt(forKey: "http.port")
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
#endif
