import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Foundation's UserDefaults with live updates")
struct FoundationLiveTests {
    private func start(_ agent: AgentProcess, _ arguments: String...) throws -> RunningProgram {
        try RunningProgram(Programs.foundationApp, arguments, environment: agent.place.environment)
    }

    @Test("Foundation's UserDefaults sees an edit that is published by the agent but not yet saved")
    func otherProcess() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "FoundationApp", "k", "0")
            try agent.synchronize()
            // From here on, an edit stays in the agent until a save is requested.
            try agent.holdEdits()
            let app = try start(agent, "live")
            try app.expect("begins with k=0")
            try app.expect("ready FoundationApp")
            for number in 1...3 {
                try agent.defaults("write", "FoundationApp", "k", "\(number)")
                try app.expect("standard FoundationApp: k=\(number)")
            }
            try agent.defaults("delete", "FoundationApp", "k")
            try app.expect("standard FoundationApp: k=none")
            try agent.defaults("write", "-g", "g", "all")
            try app.expect("standard NSGlobalDomain: g=all")
        }
    }

    @Test("Foundation's UserDefaults sees what a foreign writer saves")
    func foreignWriter() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "live")
            try app.expect("begins with k=none")
            try app.expect("ready FoundationApp")
            try Programs.run(
                Programs.foundationWriter, ["FoundationApp", "k", "theirs"], environment: agent.place.environment)
            try app.expect("standard FoundationApp: k=theirs")
            let file = try PropertyListValue.dictionary(["k": "edited"]).write(as: .xml)
            try RawFile.replace(agent.place.path("FoundationApp"), with: file)
            try app.expect("standard FoundationApp: k=edited")
        }
    }

    @Test("Foundation's UserDefaults keeps its program's unsaved values and overwrites no others")
    func unsaved() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "unsaved", "mine")
            try app.expect("begins with k=none")
            try app.expect("ready FoundationApp")
            try agent.defaults("write", "FoundationApp", "k", "theirs")
            // Foundation saves its own key when it learns of the other one, and is then notified of its own save.
            try app.expect("standard FoundationApp: k=theirs")
            try app.expect("standard FoundationApp: unsaved=mine")
            let read = try agent.defaults("read", "FoundationApp")
            #expect(read.output == "{\n    k = theirs;\n    unsaved = mine;\n}\n")
        }
    }

    @Test("Foundation's UserDefaults sees changes to a suite, and a global change once per instance")
    func suite() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "live", "org.example.suite")
            try app.expect("begins with k=none")
            try app.expect("ready FoundationApp")
            try agent.defaults("write", "org.example.suite", "k", "1")
            try app.expect("suite org.example.suite: k=1")
            try agent.defaults("write", "-g", "g", "2")
            try app.expect("standard NSGlobalDomain: g=2")
            try app.expect("suite NSGlobalDomain: g=2")
            try agent.defaults("write", "FoundationApp", "k", "3")
            try app.expect("standard FoundationApp: k=3")
        }
    }

    @Test("Foundation's UserDefaults receives no changes after live updates are disabled")
    func disabled() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "live")
            try app.expect("begins with k=none")
            try app.expect("ready FoundationApp")
            try agent.defaults("write", "FoundationApp", "k", "stop")
            try app.expect("standard FoundationApp: k=stop")
            try app.expect("stopped")
            for number in 1...3 {
                try agent.defaults("write", "FoundationApp", "k", "\(number)")
                try app.expect("changed k=\(number), in Foundation k=stop")
            }
        }
    }

    @Test("Foundation's UserDefaults sees changes without an agent and through one that starts later")
    func withoutAgent() throws {
        try AgentProcess.withPlace { place in
            let app = try RunningProgram(Programs.foundationApp, ["live"], environment: place.environment)
            try app.expect("begins with k=none")
            try app.expect("ready FoundationApp")
            try Programs.run(
                Programs.foundationWriter, ["FoundationApp", "k", "1"], environment: place.environment)
            try app.expect("standard FoundationApp: k=1")
            // When the library switches to the agent, it reports for each domain that it may have missed changes.
            let agent = try AgentProcess(place)
            for _ in 1...2 { try app.expect("standard ?: k=1") }
            try agent.defaults("write", "FoundationApp", "k", "2")
            try app.expect("standard FoundationApp: k=2")
        }
    }

    @Test("Foundation's UserDefaults is live under the identifier of the program's bundle")
    func bundle() throws {
        try AgentProcess.withAgent { agent in
            let bundle = "\(agent.place.root)/bundle"
            try RawFile.makeDirectory(bundle)
            let information = PropertyListValue.dictionary(["CFBundleIdentifier": "org.example.bundle"])
            try RawFile.write(try information.write(as: .xml), to: "\(bundle)/Info.plist")
            try FileManager.default.copyItem(atPath: Programs.foundationApp, toPath: "\(bundle)/FoundationApp")
            let app = try RunningProgram(
                "\(bundle)/FoundationApp", ["live"], environment: agent.place.environment)
            try app.expect("begins with k=none")
            try app.expect("ready org.example.bundle")
            try agent.defaults("write", "org.example.bundle", "k", "1")
            try app.expect("standard org.example.bundle: k=1")
        }
    }
}
