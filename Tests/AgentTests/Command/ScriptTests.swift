import DefaultsCore
import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Setup scripts that were written for Apple's command.
@Suite("Scripts for macOS")
struct ScriptTests {
    private static let scripts = Repository.path + "/Tests/Scripts"

    /// Runs a script with this command first in `PATH`, then checks the files with Python's plistlib.
    private func run(_ place: AgentProcess.Place, _ environment: [String: String]) throws {
        let home = place.root + "/home"
        for container in ["org.example.Mail", "org.example.notes"] {
            try FileManager.default.createDirectory(
                atPath: "\(home)/Library/Containers/\(container)/Data/Library/Preferences",
                withIntermediateDirectories: true)
        }
        try RawFile.makeDirectory(home + "/Library/Preferences")
        let script = try String(decoding: RawFile.read(Self.scripts + "/macos"), as: UTF8.self)
        // A host without an identifier, as in some containers, has no settings of its own.
        let host = HostIdentifier.current()
        let lines = script.split(separator: "\n", omittingEmptySubsequences: false).filter {
            host != nil || !$0.contains("-currentHost")
        }
        try RawFile.write(lines.joined(separator: "\n"), to: home + "/macos")
        let path = "\(Programs.directory):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
        let outcome = try Programs.run(
            "/usr/bin/env", ["bash", home + "/macos"],
            environment: environment.merging(["HOME": home, "PATH": path]) { $1 })
        #expect(outcome.status == 0 && outcome.output == "" && outcome.errors == "", "\(outcome)")
        let arguments = [home, place.preferences] + [host].compactMap { $0 }
        let differences = try ForeignProcess.run(
            python: String(decoding: RawFile.read(Self.scripts + "/macos.py"), as: UTF8.self), arguments)
        #expect(differences == "")
    }

    @Test(
        "A setup script for macOS sets the expected values, with and without an agent",
        .enabled(if: ForeignProcess.hasPython),
        arguments: [true, false])
    func macos(hasAgent: Bool) throws {
        if hasAgent {
            try AgentProcess.withAgent { agent in
                try run(agent.place, agent.place.environment)
            }
        } else {
            try AgentProcess.withPlace { place in
                try run(place, place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
            }
        }
    }
}
