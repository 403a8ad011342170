import DefaultsCore
import DefaultsKit
import PropertyList
import TestSupport
import Testing

@Suite("UserDefaults, live")
struct LiveTests {
    private func defaults(_ place: AgentProcess.Place) throws -> (LiveDomains, UserDefaults) {
        let place = try LivePlace(environment: Environment(place.environment))
        let live = LiveDomains(.success(place))
        let defaults = UserDefaults(suiteName: "org.example.app", in: live)
        return (live, try #require(defaults))
    }

    @Test("See what another process sets, and are seen by it")
    func otherProcess() throws {
        try AgentProcess.withAgent { agent in
            let (live, defaults) = try defaults(agent.place)
            defer { live.close() }
            #expect(defaults.string(forKey: "a") == nil)
            try agent.defaults("write", "org.example.app", "a", "1")
            #expect(eventually { defaults.string(forKey: "a") == "1" })
            defaults.set(2, forKey: "b")
            #expect(defaults.integer(forKey: "b") == 2)
            #expect(defaults.synchronize())
            let read = try agent.defaults("read", "org.example.app", "b")
            #expect(read.output == "2\n")
        }
    }

    @Test("Work on the files where no agent runs, and move over to one that comes")
    func embedded() throws {
        try AgentProcess.withPlace { place in
            let (live, defaults) = try defaults(place)
            defer { live.close() }
            defaults.set("x", forKey: "a")
            #expect(defaults.synchronize())
            let agent = try AgentProcess(place)
            defaults.set("y", forKey: "b")
            #expect(defaults.synchronize())
            try agent.defaults("write", "org.example.app", "c", "z")
            #expect(eventually { defaults.string(forKey: "c") == "z" })
            agent.kill()
            defaults.set("w", forKey: "d")
            #expect(defaults.synchronize())
            let again = try AgentProcess(place)
            let read = try again.defaults("read", "org.example.app")
            #expect(read.output == "{\n    a = x;\n    b = y;\n    c = z;\n    d = w;\n}\n")
        }
    }
}
