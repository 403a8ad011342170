import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// Programs that use many suites, at the same time or one after the other.
@Suite("UserDefaults with many suites")
struct LiveNamesTests {
    private func withLive(_ place: AgentProcess.Place, _ body: (Client) throws -> Void) throws {
        let client = Client(.success(try Location(environment: Environment(place.environment))))
        defer { client.close() }
        try body(client)
    }

    private static func suite(_ number: Int, _ client: Client) throws -> UserDefaults {
        try #require(UserDefaults(suiteName: "org.example.suite\(number)", in: client))
    }

    @Test("A process with 400 open suites keeps its own values in each and sees those set by others")
    func manyOpen() throws {
        try AgentProcess.withPlace { place in
            var agent = try AgentProcess(place)
            defer { agent.kill() }
            try withLive(place) { client in
                let count = 400
                let suites = try (0..<count).map { try Self.suite($0, client) }
                for (number, suite) in suites.enumerated() { suite.set(number, forKey: "k") }
                #expect(suites[0].synchronize())
                func check(_ own: Int) throws {
                    for (number, suite) in suites.enumerated() {
                        #expect(suite.integer(forKey: "k") == number + own, "suite \(number)")
                    }
                    for number in [0, count - 1] {
                        try agent.defaults("write", "org.example.suite\(number)", "other", "\(own) \(number)")
                        #expect(eventually { suites[number].string(forKey: "other") == "\(own) \(number)" })
                    }
                }
                try check(0)
                agent.kill()
                agent = try AgentProcess(place)
                for (number, suite) in suites.enumerated() { suite.set(number + 1, forKey: "k") }
                #expect(suites[0].synchronize())
                try check(1)
            }
        }
    }

    @Test("Suites that are opened and released one after the other all work and are then forgotten")
    func oneAfterTheOther() throws {
        try AgentProcess.withAgent { agent in
            try withLive(agent.place) { client in
                let count = 400
                for number in 0..<count {
                    let suite = try Self.suite(number, client)
                    suite.set(number, forKey: "k")
                    #expect(suite.integer(forKey: "k") == number)
                }
                let last = try Self.suite(count, client)
                last.set(1, forKey: "k")
                #expect(last.synchronize())
                #expect(last.integer(forKey: "k") == 1)
                try agent.defaults("write", "org.example.suite\(count)", "other", "x")
                #expect(eventually { last.string(forKey: "other") == "x" })
                #expect(
                    eventually {
                        client.beginObserving()
                        return client.state.withLock { $0.names.count } <= 64
                    })
                // Each suite can be opened again.
                for number in [0, count / 2, count - 1] {
                    #expect(try Self.suite(number, client).integer(forKey: "k") == number)
                }
            }
        }
    }

    @Test("Without an agent, released suites are saved and then forgotten")
    func embedded() throws {
        try AgentProcess.withPlace { place in
            try withLive(place) { client in
                let count = 200
                for number in 0..<count { try Self.suite(number, client).set(number, forKey: "k") }
                #expect(client.synchronize().failures.isEmpty)
                let last = try Self.suite(count, client)
                #expect(last.object(forKey: "k") == nil)
                #expect(
                    eventually {
                        client.beginObserving()
                        return client.state.withLock { $0.names.count } <= 64
                    })
                #expect(try Self.suite(7, client).integer(forKey: "k") == 7)
                let file = try PropertyListValue(parsing: RawFile.read(place.path("org.example.suite7")))
                #expect(file == ["k": 7])
            }
        }
    }
}
