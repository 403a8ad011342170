import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "About the User Defaults System", on providing an interface.
@Suite("Providing a Preference Interface")
struct PreferenceInterfaceTests {
    private func open(_ agent: AgentProcess) throws -> RunningProgram {
        try RunningProgram(Programs.preferencesWindow, [], environment: agent.place.environment, takesInput: true)
    }

    @Test("A custom preferences window, the command, its tail and a relaunch all show the same values")
    func customInterface() throws {
        try AgentProcess.withAgent { agent in
            let tail = try agent.start("tail", "--json", "PreferencesWindow")
            _ = try tail.objects(upTo: "ready")

            let window = try open(agent)
            try window.send("set name Ada")
            try window.send("toggle sounds")
            try window.send("apply")
            #expect(window.shows(#"name "Ada", quality 0.8, silent, color none (applied)"#))

            let changes = try #require(tail.objects(upTo: "change").last?["changes"] as? [[String: Any]])
            let told = changes.map { "\($0["kind"] ?? "") \($0["key"] ?? "") \($0["new"] ?? "")" }.sorted()
            #expect(told == ["added name Ada", "added sounds 0"])
            let read = try agent.defaults("read", "PreferencesWindow").output
            #expect(read == "{\n    name = Ada;\n    sounds = 0;\n}\n")
            try window.send("quit")
            #expect(window.status() == 0)

            let next = try open(agent)
            #expect(next.line() == #"name "Ada", quality 0.8, silent, color none (applied)"#)
            try next.send("quit")
            #expect(next.status() == 0)
        }
    }
}
