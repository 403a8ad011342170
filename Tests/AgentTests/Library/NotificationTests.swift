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

    @Test("The notification is posted once per call that sets, on its thread, before the call returns")
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
            // None is posted again when the agent reports the change: the next one is another process's.
            try agent.defaults("write", "FoundationApp", "a", "theirs")
            #expect(app.line() == "standard FoundationApp: a=theirs")
        }
    }

    @Test("Posting the notification for 300,000 sets doesn't exhaust the stack")
    func stack() throws {
        try AgentProcess.withPlace { place in
            // Two frames per call would need more stack than there is.
            let app = try start(place.environment, "count 300000", "set a 1")
            // On a busy machine, changes are missed, which a notification without a domain says.
            var lines: [String] = []
            while lines.last != "done", let line = app.line(within: 120) {
                if line != "standard ?: k=none" { lines.append(line) }
            }
            #expect(lines == ["standard FoundationApp: a=1, here", "done"])
        }
    }

    @Test("The notification is posted once per change set of another process, in all searched domains")
    func others() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent.place.environment)
            #expect(app.line() == "done")
            try agent.defaults("write", "FoundationApp", "a", "1")
            #expect(app.line() == "standard FoundationApp: a=1")
            // This domain is not searched.
            try agent.defaults("write", "org.example.else", "a", "2")
            try agent.defaults("write", "-g", "g", "3")
            #expect(app.line() == "standard NSGlobalDomain: g=3")
            try Programs.run(
                Programs.foundationWriter, ["FoundationApp", "a", "4"], environment: agent.place.environment)
            #expect(app.line() == "standard FoundationApp: a=4")
        }
    }

    @Test("The notification is posted without an agent, and even for a domain's first file")
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
            // To the stream, the start of an agent is a gap in either domain.
            let agent = try AgentProcess(place)
            #expect(app.line() == "standard ?: k=2")
            try agent.defaults("write", "FoundationApp", "k", "3")
            var line: String?
            repeat { line = app.line() } while line == "standard ?: k=2"
            #expect(line == "standard FoundationApp: k=3" || line == "standard ?: k=3")
        }
    }
}
