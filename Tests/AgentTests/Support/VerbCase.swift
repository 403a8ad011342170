import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// Commands that run one after the other on some files, and the exact result of the last one.
///
/// In expected texts, `<root>` stands for the test's directory and `<host>` for this machine's identifier.
struct VerbCase: CustomTestStringConvertible {
    /// The contents of files below the test's directory, by name; the preferences are in "p".
    var files: [String: String] = [:]
    var commands: [[String]]
    var input = ""
    var status: Int32 = 0
    var output = ""
    var errors = ""
    var environment: [String: String] = [:]

    var testDescription: String { commands.last?.joined(separator: " ") ?? "" }

    /// Runs the commands with an agent and without one, and expects the same results.
    func check() throws {
        try AgentProcess.withPlace { place in
            try makeFiles(place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try check(place, place.environment, "with an agent")
        }
        try AgentProcess.withPlace { place in
            try makeFiles(place)
            // An empty socket asks for no particular agent, so its absence is no error.
            try check(place, place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }, "without an agent")
        }
    }

    private func makeFiles(_ place: AgentProcess.Place) throws {
        for (name, content) in files {
            let path = "\(place.root)/\(name)"
            let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
            if !RawFile.exists(directory) { try RawFile.makeDirectory(directory) }
            try RawFile.write(content, to: path)
        }
    }

    private func check(_ place: AgentProcess.Place, _ variables: [String: String], _ where: Comment) throws {
        for (index, command) in commands.enumerated() {
            let arguments = command.map { $0.replacingOccurrences(of: "<root>", with: place.root) }
            let isLast = index == commands.count - 1
            let outcome = try Programs.run(
                Programs.defaults, arguments, environment: variables.merging(environment) { $1 },
                input: isLast ? input : "")
            guard isLast else {
                #expect(outcome.status == 0, "\(command): \(outcome.errors)")
                continue
            }
            #expect(outcome.status == status, `where`)
            #expect(Self.general(outcome.output, place) == output, `where`)
            #expect(Self.general(outcome.errors, place) == errors, `where`)
        }
    }

    private static func general(_ text: String, _ place: AgentProcess.Place) -> String {
        let text = text.replacingOccurrences(of: place.root, with: "<root>")
        return HostIdentifier.current().map { text.replacingOccurrences(of: $0, with: "<host>") } ?? text
    }
}
