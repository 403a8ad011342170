import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Foundation's own UserDefaults, with live updates")
struct FoundationLiveTests {
    private func start(_ agent: AgentProcess, _ arguments: String...) throws -> RunningProgram {
        try RunningProgram(Programs.foundationApp, arguments, environment: agent.place.environment)
    }

    @Test("See what an app sets through the agent, which is told before it is in the file")
    func otherProcess() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "FoundationApp", "k", "0")
            try agent.synchronize()
            // An edit then stays in the agent until someone asks for it to be saved.
            try agent.holdEdits()
            let app = try start(agent, "live")
            #expect(app.line() == "begins with k=0")
            #expect(app.line() == "ready FoundationApp")
            for number in 1...3 {
                try agent.defaults("write", "FoundationApp", "k", "\(number)")
                #expect(app.line() == "standard FoundationApp: k=\(number)")
            }
            try agent.defaults("delete", "FoundationApp", "k")
            #expect(app.line() == "standard FoundationApp: k=none")
            try agent.defaults("write", "-g", "g", "all")
            #expect(app.line() == "standard NSGlobalDomain: g=all")
        }
    }

    @Test("See what a program that knows nothing of us writes to the file")
    func foreignWriter() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "live")
            #expect(app.line() == "begins with k=none")
            #expect(app.line() == "ready FoundationApp")
            try Programs.run(
                Programs.foundationWriter, ["FoundationApp", "k", "theirs"], environment: agent.place.environment)
            #expect(app.line() == "standard FoundationApp: k=theirs")
            let file = try PropertyListValue.dictionary(["k": "edited"]).write(as: .xml)
            try RawFile.replace(agent.place.path("FoundationApp"), with: file)
            #expect(app.line() == "standard FoundationApp: k=edited")
        }
    }

    @Test("Keep what the program has set and not saved, and write over nothing")
    func unsaved() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "unsaved", "mine")
            #expect(app.line() == "begins with k=none")
            #expect(app.line() == "ready FoundationApp")
            try agent.defaults("write", "FoundationApp", "k", "theirs")
            // Foundation saves its key when it is told of the other one, and is told of its own file.
            #expect(app.line() == "standard FoundationApp: k=theirs")
            #expect(app.line() == "standard FoundationApp: unsaved=mine")
            let read = try agent.defaults("read", "FoundationApp")
            #expect(read.output == "{\n    k = theirs;\n    unsaved = mine;\n}\n")
        }
    }

    @Test("See the changes of a suite, and the global domain's once for each instance")
    func suite() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "live", "org.example.suite")
            #expect(app.line() == "begins with k=none")
            #expect(app.line() == "ready FoundationApp")
            try agent.defaults("write", "org.example.suite", "k", "1")
            #expect(app.line() == "suite org.example.suite: k=1")
            try agent.defaults("write", "-g", "g", "2")
            #expect(app.line() == "standard NSGlobalDomain: g=2")
            #expect(app.line() == "suite NSGlobalDomain: g=2")
            try agent.defaults("write", "FoundationApp", "k", "3")
            #expect(app.line() == "standard FoundationApp: k=3")
        }
    }

    @Test("Are told no more when the updates are disabled")
    func disabled() throws {
        try AgentProcess.withAgent { agent in
            let app = try start(agent, "live")
            #expect(app.line() == "begins with k=none")
            #expect(app.line() == "ready FoundationApp")
            try agent.defaults("write", "FoundationApp", "k", "stop")
            #expect(app.line() == "standard FoundationApp: k=stop")
            #expect(app.line() == "stopped")
            for number in 1...3 {
                try agent.defaults("write", "FoundationApp", "k", "\(number)")
                #expect(app.line() == "changed k=\(number), in Foundation k=stop")
            }
        }
    }

    @Test("See what others write where no agent runs, and what comes through one that appears")
    func withoutAgent() throws {
        try AgentProcess.withPlace { place in
            let app = try RunningProgram(Programs.foundationApp, ["live"], environment: place.environment)
            #expect(app.line() == "begins with k=none")
            #expect(app.line() == "ready FoundationApp")
            try Programs.run(
                Programs.foundationWriter, ["FoundationApp", "k", "1"], environment: place.environment)
            #expect(app.line() == "standard FoundationApp: k=1")
            // When the library moves over, it says that it may have missed something, in either domain.
            let agent = try AgentProcess(place)
            for _ in 1...2 { #expect(app.line() == "standard ?: k=1") }
            try agent.defaults("write", "FoundationApp", "k", "2")
            #expect(app.line() == "standard FoundationApp: k=2")
        }
    }

    @Test("Are found under the identifier of the program's bundle")
    func bundle() throws {
        try AgentProcess.withAgent { agent in
            let bundle = "\(agent.place.root)/bundle"
            try RawFile.makeDirectory(bundle)
            let information = PropertyListValue.dictionary(["CFBundleIdentifier": "org.example.bundle"])
            try RawFile.write(try information.write(as: .xml), to: "\(bundle)/Info.plist")
            try FileManager.default.copyItem(atPath: Programs.foundationApp, toPath: "\(bundle)/FoundationApp")
            let app = try RunningProgram(
                "\(bundle)/FoundationApp", ["live"], environment: agent.place.environment)
            #expect(app.line() == "begins with k=none")
            #expect(app.line() == "ready org.example.bundle")
            try agent.defaults("write", "org.example.bundle", "k", "1")
            #expect(app.line() == "standard org.example.bundle: k=1")
        }
    }
}
