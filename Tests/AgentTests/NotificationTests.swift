import ProgramSupport
import TestSupport
import Testing

@Suite("UserDefaults.didChangeNotification")
struct NotificationTests {
    private func start(_ environment: [String: String], _ calls: String...) throws -> RunningProgram {
        let app = try RunningProgram(Programs.foundationApp, ["notifications"] + calls, environment: environment)
        #expect(app.line() == "ready")
        return app
    }

    @Test("is posted once for each call that sets, before it returns, on its thread")
    func calls() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(
                agent.place.environment, "set a 1", "set a 1", "remove a", "register r 2", "suite s 3", "replace",
                "transaction", "set again 1")
            let lines = [
                "standard FoundationApp: a=1, here", "standard FoundationApp: a=1, here",
                "standard FoundationApp: a=none, here", "standard NSRegistrationDomain: r=2, here",
                "suite org.example.suite: s=3, here", "standard FoundationApp: a=1 b=2, here",
                "standard FoundationApp: a=3 b=4, here", "standard FoundationApp: again=1, here",
                "standard FoundationApp: again=none, here", "done",
            ]
            for line in lines { #expect(app.line() == line) }
            // None comes a second time when the agent tells of it: the next one is another's.
            try agent.defaults("write", "FoundationApp", "a", "theirs")
            #expect(app.line() == "standard FoundationApp: a=theirs")
        }
    }

    @Test("Posting for 300,000 sets does not use up the stack")
    func stack() throws {
        try AgentProcess.withPlace { place in
            // Two frames for each call would take more than the stack has.
            let app = try start(place.environment, "count 300000", "set a 1")
            #expect(app.line(within: 120) == "standard FoundationApp: a=1, here")
            #expect(app.line() == "done")
        }
    }

    @Test("is posted once for each change set of another process, for all domains that are searched")
    func others() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent.place.environment)
            #expect(app.line() == "done")
            try agent.defaults("write", "FoundationApp", "a", "1")
            #expect(app.line() == "standard FoundationApp: a=1")
            // Nobody searches this one.
            try agent.defaults("write", "org.example.else", "a", "2")
            try agent.defaults("write", "-g", "g", "3")
            #expect(app.line() == "standard NSGlobalDomain: g=3")
            try Programs.run(
                Programs.foundationWriter, ["FoundationApp", "a", "4"], environment: agent.place.environment)
            #expect(app.line() == "standard FoundationApp: a=4")
        }
    }

    @Test("is posted where no agent runs, and even for a domain's first file")
    func withoutAgent() throws {
        try AgentProcess.withPlace { place in
            let app = try start(place.environment, "register r 2")
            #expect(app.line() == "standard NSRegistrationDomain: r=2, here")
            #expect(app.line() == "done")
            for number in 1...2 {
                try Programs.run(
                    Programs.foundationWriter, ["FoundationApp", "k", "\(number)"], environment: place.environment)
                #expect(app.line() == "standard FoundationApp: k=\(number)")
            }
            // To the stream an agent that comes is a gap, in either domain.
            let agent = try AgentProcess(place)
            #expect(app.line() == "standard ?: k=2")
            try agent.defaults("write", "FoundationApp", "k", "3")
            var line: String?
            repeat { line = app.line() } while line == "standard ?: k=2"
            #expect(line == "standard FoundationApp: k=3" || line == "standard ?: k=3")
        }
    }
}
