import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsKit

/// Programs that use many suites, or live so long that they have used many.
@Suite("UserDefaults, live, of many suites")
struct LiveNamesTests {
    private func withLive(_ place: AgentProcess.Place, _ body: (LiveDomains) throws -> Void) throws {
        let live = LiveDomains(.success(try LivePlace(environment: Environment(place.environment))))
        defer { live.close() }
        try body(live)
    }

    private static func suite(_ number: Int, _ live: LiveDomains) throws -> UserDefaults {
        try #require(UserDefaults(suiteName: "org.example.suite\(number)", in: live))
    }

    @Test("A process that has 400 suites open keeps what it sets in each, and sees what others set")
    func manyOpen() throws {
        try AgentProcess.withPlace { place in
            var agent = try AgentProcess(place)
            defer { agent.kill() }
            try withLive(place) { live in
                let count = 400
                let suites = try (0..<count).map { try Self.suite($0, live) }
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

    @Test("Suites that are opened and released one after the other are all served, and let go")
    func oneAfterTheOther() throws {
        try AgentProcess.withAgent { agent in
            try withLive(agent.place) { live in
                let count = 400
                for number in 0..<count {
                    let suite = try Self.suite(number, live)
                    suite.set(number, forKey: "k")
                    #expect(suite.integer(forKey: "k") == number)
                }
                let last = try Self.suite(count, live)
                last.set(1, forKey: "k")
                #expect(last.synchronize())
                #expect(last.integer(forKey: "k") == 1)
                try agent.defaults("write", "org.example.suite\(count)", "other", "x")
                #expect(eventually { last.string(forKey: "other") == "x" })
                #expect(
                    eventually {
                        live.beginObserving()
                        return live.state.withLock { $0.names.count } <= 64
                    })
                // Each is there again when it is wanted.
                for number in [0, count / 2, count - 1] {
                    #expect(try Self.suite(number, live).integer(forKey: "k") == number)
                }
            }
        }
    }

    @Test("Suites are let go where no agent runs, too")
    func embedded() throws {
        try AgentProcess.withPlace { place in
            try withLive(place) { live in
                let count = 200
                for number in 0..<count { try Self.suite(number, live).set(number, forKey: "k") }
                #expect(live.synchronize().isEmpty)
                let last = try Self.suite(count, live)
                #expect(last.object(forKey: "k") == nil)
                #expect(
                    eventually {
                        live.beginObserving()
                        return live.state.withLock { $0.names.count } <= 64
                    })
                #expect(try Self.suite(7, live).integer(forKey: "k") == 7)
                let file = try PropertyListValue(parsing: RawFile.read(place.path("org.example.suite7")))
                #expect(file == ["k": 7])
            }
        }
    }
}
