import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

@Suite("Calls that store values and throw", .timeLimit(.minutes(1)))
struct StoringTests {
    private let defaults = UserDefaults(inMemory: ["count": 1])
    private let count = DefaultsKey("count", default: 0)
    private let size = DefaultsKey("size", default: 12, in: 6...72)
    private struct Stop: Error {}

    @Test("A value is saved when the call returns, and one that is refused makes the call throw, with the reason")
    func oneKey() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            try defaults.store(20, for: size)
            #expect(try place.read(place.preferences + "/app.plist") == ["size": 20])
            let problem = #expect(throws: DefaultsProblem.self) { try defaults.store(99, for: size) }
            #expect(problem?.code == .value && problem?.description == "\"size\" must be 6 to 72.")
            #expect(defaults[size] == 20)
        }
    }

    @Test("One value that is refused makes a transaction throw, and nothing is set")
    func transaction() throws {
        #expect(throws: DefaultsProblem.self) {
            try defaults.store { values in
                values[count] += 1
                values[size] = 5
            }
        }
        #expect(throws: DefaultsProblem.self) {
            try defaults.store { values in
                values[count] += 1
                values[DefaultsKey("count", default: 0, domain: "org.example.editor")] = 5
            }
        }
        #expect(throws: DefaultsProblem.self) {
            try defaults.store { values in
                values[count] = values[DefaultsKey("count", default: 7, domain: "org.example.editor")]
            }
        }
        #expect(throws: Stop.self) {
            try defaults.store { values in
                values[count] += 1
                throw Stop()
            }
        }
        #expect(defaults[count] == 1)
        let result = try defaults.store { values in
            values[count] += 1
            values[size] = 6
            return values[count]
        }
        #expect(result == 2 && defaults[count] == 2 && defaults[size] == 6)
    }

    @Test("Within a transaction, a call that throws sets nothing, and the transaction goes on")
    func nested() {
        defaults.withTransaction { values in
            values[count] = 5
            #expect(throws: DefaultsProblem.self) { try defaults.store(99, for: size) }
            #expect(throws: DefaultsProblem.self) {
                try defaults.store { inner in
                    inner[count] = 6
                    inner[size] = 99
                }
            }
            #expect(values[count] == 5)
        }
        #expect(defaults[count] == 5 && defaults.object(forKey: "size") == nil)
    }

    @Test("The asynchronous forms do the same, and many at once lose nothing")
    func asynchronous() async throws {
        try await defaults.store(7, for: size)
        await #expect(throws: DefaultsProblem.self) { try await defaults.store(99, for: size) }
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { try await defaults.update(count) { $0 += 1 } }
                group.addTask { try await defaults.store { [count] values in values[count] += 1 } }
            }
            try await group.waitForAll()
        }
        #expect(defaults[count] == 101 && defaults[size] == 7)
    }

    @Test("An observation receives the current value and later ones, until it is canceled or released")
    func observation() async throws {
        let values = ForkSafeMutex<[Int]>([])
        let observation = defaults.observe(count) { value in values.withLock { $0.append(value) } }
        #expect(await until { values.withLock { $0 } == [1] })
        defaults[count] = 2
        #expect(await until { values.withLock { $0 } == [1, 2] })
        let calls = ForkSafeMutex<[@Sendable () -> Void]>([])
        var scheduled: DefaultsObservation? = defaults.observe(
            count, on: { call in calls.withLock { $0.append(call) } }
        ) {
            value in values.withLock { $0.append(10 * value) }
        }
        #expect(await until { calls.withLock { $0.count } == 1 })
        calls.withLock { $0[0] }()
        #expect(values.withLock { $0 } == [1, 2, 20])
        // A call that is waiting receives the newest value.
        for value in 3...50 { defaults[count] = value }
        #expect(await until { values.withLock { $0.last } == 50 })
        #expect(await until { calls.withLock { $0.count } == 2 })
        let isNewest = await until {
            calls.withLock { $0.last }?()
            return values.withLock { $0.last } == 500
        }
        #expect(isNewest)
        observation.cancel()
        let (count, last) = (calls.withLock { $0.count }, values.withLock { $0.count })
        defaults[self.count] = 51
        #expect(await until { calls.withLock { $0.count } == count + 1 })
        _ = scheduled
        scheduled = nil
        calls.withLock { $0[count] }()
        #expect(values.withLock { $0.count } == last)
    }
}
