import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Profiles")
struct ProfileTests {
    /// Applies a profile with the given values of the domain `org.a`.
    @discardableResult
    private func apply(
        _ name: String, _ values: DomainValues, _ agent: AgentProcess, _ options: String...
    ) throws -> (status: Int32, output: String, errors: String) {
        let path = "\(agent.place.root)/\(name).plist"
        let profile: PropertyListValue = ["Domains": [["Domain": "org.a", "Set": .dictionary(values)]]]
        try RawFile.write(try profile.write(as: .binary), to: path)
        let outcome = try agent.run(["apply", path] + options)
        return (outcome.status, outcome.output, outcome.errors)
    }

    private func values(_ agent: AgentProcess) throws -> DomainValues {
        try agent.connect().snapshot(of: Domain(try DomainName("org.a"))).values
    }

    @Test("A profile that was undone and redone is still reset as a whole")
    func undone() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "org.a", "theme", "light")
            try apply("dark", ["theme": "dark", "size": 12], agent)
            try apply("dark", ["theme": "darker", "size": 12], agent)
            #expect(try agent.defaults("undo").status == 0)
            #expect(try agent.defaults("redo").status == 0)
            #expect(try values(agent) == ["theme": "darker", "size": 12])
            #expect(try agent.defaults("apply", "--undo", "dark").status == 0)
            #expect(try values(agent) == ["theme": "light"])
            // The reset is a change like any other.
            #expect(try agent.defaults("log", "-n", "1").output.contains("reset of profile dark"))
            #expect(try agent.defaults("undo").status == 0)
            #expect(try values(agent) == ["theme": "darker", "size": 12])
            #expect(try agent.defaults("apply", "--undo", "dark").status == 0)
            #expect(try values(agent) == ["theme": "light"])
        }
    }

    @Test("A key that a second profile has set is the first one's again once the second is reset")
    func twoProfiles() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "org.a", "theme", "light")
            try apply("one", ["theme": "dark", "size": 12], agent)
            try apply("two", ["theme": "blue"], agent)
            let outcome = try agent.defaults("apply", "--undo", "one", "--dry-run")
            #expect(outcome.status == 1)
            #expect(outcome.output == "org.a size  12 → (none)\n")
            #expect(outcome.errors.contains("org.a theme was changed later, at "))
            #expect(outcome.errors.contains("profile two), and keeps its value."), "\(outcome.errors)")
            #expect(try agent.defaults("apply", "--undo", "two").output == "org.a theme  \"blue\" → \"dark\"\n")
            let last = try agent.defaults("apply", "--undo", "one")
            #expect(last.status == 0 && last.errors == "", "\(last.errors)")
            #expect(try values(agent) == ["theme": "light"])
        }
    }

    @Test("The reset of a profile says that keys without a history keep their values")
    func excluded() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "org.defaultsd.agent", "HistoryExcludes", "-array", "org.a/token")
            try agent.synchronize()
            try apply("dark", ["theme": "dark", "token": "secret"], agent)
            let outcome = try agent.defaults("apply", "--undo", "dark")
            #expect(outcome.status == 1 && outcome.errors.contains("org.a: keys that HistoryExcludes or a manifest"))
            #expect(try agent.defaults("read", "org.a").output == "{\n    token = secret;\n}\n")
            let again = try agent.defaults("apply", "--undo", "dark")
            #expect(again.status == 1 && !again.errors.contains("excludes"), "\(again.errors)")
        }
    }

    @Test("A profile can be applied again after a restart even if its file doesn't hold its values exactly")
    func again() throws {
        try AgentProcess.withPlace { place in
            let profile: DomainValues = [
                "real": .real32(0.1), "date": .date(PropertyListDate(secondsSinceReferenceDate: 0.5)),
            ]
            let first = try AgentProcess(place)
            try apply("dark", profile, first)
            first.terminate()
            let second = try AgentProcess(place)
            defer { second.kill() }
            #expect(try apply("dark", profile, second).output == "")
        }
    }

    @Test("Pruning lists keys that have been changed since, and keeps their values")
    func pruning() throws {
        try AgentProcess.withAgent { agent in
            try apply("dark", ["theme": "dark", "size": 12], agent)
            try agent.defaults("write", "org.a", "theme", "mine")
            let outcome = try apply("dark", ["other": 1], agent, "--prune")
            #expect(outcome.status == 0 && outcome.output == "org.a other  (none) → 1\norg.a size  12 → (none)\n")
            #expect(outcome.errors.contains("org.a theme was changed later, at "), "\(outcome.errors)")
            #expect(try values(agent) == ["theme": "mine", "other": 1])
        }
    }

    @Test(
        "A profile that contradicts itself is refused as a whole",
        arguments: [
            ("{ Domains = ( { Domain = a; Set = { k = 1; }; }, { Domain = a; Remove = ( k ); } ); }", "Domains.1: "),
            ("{ Domains = ( { Domain = a; Set = { k = 1; }; Remove = ( k ); } ); }", "\"k\" is in both"),
        ])
    func contradictions(text: String, message: String) throws {
        try AgentProcess.withAgent { agent in
            let path = agent.place.root + "/profile.plist"
            try RawFile.write(text, to: path)
            let outcome = try agent.defaults("apply", path)
            #expect(outcome.status == 65 && outcome.errors.contains(message), "\(outcome.errors)")
            #expect(try agent.defaults("read", "a").status == 1)
        }
    }

    @Test("Without an agent, a profile is applied, with a note that the history lacks it")
    func withoutAgent() throws {
        try AgentProcess.withPlace { place in
            let path = place.root + "/profile.plist"
            try RawFile.write("{ Domains = ( { Domain = a; Set = { k = 1; }; } ); }", to: path)
            let environment = place.environment.merging(["DEFAULTS_NO_AGENT": "1"]) { $1 }
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                try Programs.run(Programs.defaults, arguments, environment: environment)
            }
            let outcome = try defaults("apply", path)
            #expect(outcome.status == 0 && outcome.errors.contains("Without an agent, these changes aren't in"))
            #expect(try defaults("read", "a", "k").output == "1\n")
            #expect(try defaults("apply", path, "--prune").status == 69)
        }
    }

    @Test("`apply` says that an agent of protocol 1 doesn't remember the changes")
    func oldAgent() throws {
        try ScriptedAgent.with(protocolVersion: 1) { request, _ in
            let answer: Message? =
                switch request.request {
                case .read(let domain, _): .values(DomainSnapshot(domain: domain, values: [:], cursor: .ofNoLog))
                case .edit: .edited(ScriptedAgent.cursor(1))
                case .synchronize: .synchronized(ScriptedAgent.cursor(1), failures: [])
                default: nil
                }
            return .messages([answer].compactMap(\.self).map { NumberedMessage(number: request.number, message: $0) })
        } _: { agent, environment in
            let path = "\(agent.path)/dark.profile"
            try RawFile.write("{Domains = ({Domain = org.a; Set = {theme = dark;};});}", to: path)
            let outcome = try Programs.run(Programs.defaults, ["apply", path], environment: environment.variables)
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains(" is older than this program, and has no history."))
            #expect(outcome.errors.hasSuffix(" aren't in the history, so --prune and --undo won't find them.\n"))
        }
    }
}
