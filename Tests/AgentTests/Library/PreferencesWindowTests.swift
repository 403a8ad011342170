import Foundation
import ProgramSupport
import TestSupport
import Testing

/// The example app, driven as by a user, alongside the command.
@Suite("The preferences window")
struct PreferencesWindowTests {
    private func open(_ agent: AgentProcess) throws -> RunningProgram {
        try RunningProgram(Programs.preferencesWindow, [], environment: agent.place.environment, takesInput: true)
    }

    private func type(_ command: String, _ window: RunningProgram, showing line: String) throws {
        try window.send(command)
        let isShown = window.shows(line)
        try #require(isShown, "\(command): \(line)")
    }

    private func reads(_ key: String, _ value: String, _ agent: AgentProcess) throws -> Bool {
        try eventually(within: 30) { try agent.defaults("read", "PreferencesWindow", key).output == value + "\n" }
    }

    @Test("The window applies, reverts, restores factory defaults, shows others' changes, and remembers")
    func use() throws {
        try AgentProcess.withAgent { agent in
            let window = try open(agent)
            #expect(window.line() == "name \"Factory\", quality 0.8, sounds, color none (applied)")

            try type("set name Ada", window, showing: "name \"Ada\", quality 0.8, sounds, color none [apply] [revert]")
            #expect(try agent.defaults("read", "PreferencesWindow").status == 1)
            try type("apply", window, showing: "name \"Ada\", quality 0.8, sounds, color none (applied)")
            #expect(try reads("name", "Ada", agent))
            #expect(try agent.defaults("read", "PreferencesWindow", "quality").status == 1)

            try type("toggle sounds", window, showing: "name \"Ada\", quality 0.8, silent, color none [apply] [revert]")
            try agent.defaults("write", "PreferencesWindow", "quality", "-float", "0.25")
            #expect(window.shows("name \"Ada\", quality 0.25, silent, color none [apply] [revert]"))
            try type("revert", window, showing: "name \"Ada\", quality 0.25, sounds, color none (applied)")

            try type(
                "toggle sounds", window, showing: "name \"Ada\", quality 0.25, silent, color none [apply] [revert]")
            try type(
                "set color red", window,
                showing: "name \"Ada\", quality 0.25, silent, color 1.0/0.0/0.0 [apply] [revert]")
            try type("apply", window, showing: "name \"Ada\", quality 0.25, silent, color 1.0/0.0/0.0 (applied)")
            #expect(try reads("sounds", "0", agent))
            try window.send("quit")
            #expect(window.status() == 0)
            #expect(window.complaints() == "")

            let next = try open(agent)
            #expect(next.line() == "name \"Ada\", quality 0.25, silent, color 1.0/0.0/0.0 (applied)")
            try agent.defaults("delete", "PreferencesWindow", "name")
            #expect(next.shows("name \"Factory\", quality 0.25, silent, color 1.0/0.0/0.0 (applied)"))
            try type(
                "factory", next, showing: "name \"Factory\", quality 0.8, sounds, color 1.0/0.0/0.0 [apply] [revert]")
            #expect(try reads("quality", "0.25", agent))
            try type("apply", next, showing: "name \"Factory\", quality 0.8, sounds, color 1.0/0.0/0.0 (applied)")
            #expect(try reads("quality", "0.8", agent))
            #expect(try reads("name", "Factory", agent))
            try next.send("quit")
            #expect(next.status() == 0)
        }
    }
}
