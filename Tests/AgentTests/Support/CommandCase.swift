import DefaultsCore
import Foundation
import Linux
import ProgramSupport
import TestSupport
import Testing

/// Commands that run one after the other in a place of their own, and the exact result of the last one.
///
/// In arguments, input and output, `$P` stands for the preferences directory, `$T` for an empty directory beside it,
/// `$H` for a home directory, `$R` for the directory of all these, and `$HOST` for this machine's identifier.
struct CommandCase: CustomTestStringConvertible {
    /// The contents of files in `$R`, by path; the preferences are in "p".
    var files: [String: String] = [:]
    var commands: [[String]]
    /// The standard input of each command whose last argument is `-`.
    var input = ""
    var status: Int32 = 0
    var output = ""
    /// All of standard error.
    var errors = ""
    /// The standard error that follows `errors` if no agent runs.
    var furtherErrors = ""
    /// Variables in addition to those of every case.
    var environment: [String: String] = [:]

    var testDescription: String { commands.map { $0.joined(separator: " ") }.joined(separator: "; ") }

    /// Returns a case whose last command prints something and a newline.
    static func prints(_ commands: [String]..., output: String, input: String = "") -> CommandCase {
        CommandCase(commands: commands, input: input, output: output + "\n")
    }

    /// Returns a case whose last command prints nothing.
    static func isSilent(_ commands: [String]..., input: String = "") -> CommandCase {
        CommandCase(commands: commands, input: input)
    }

    /// Returns a case whose last command fails and says why in one line.
    static func fails(
        _ commands: [String]..., status: Int32, _ errors: String, input: String = ""
    ) -> CommandCase {
        CommandCase(commands: commands, input: input, status: status, errors: "defaults: \(errors)\n")
    }

    /// Runs the commands with an agent and without one, and expects the same results and files.
    ///
    /// - Returns: The contents of the files, by name.
    @discardableResult
    func check(prepare: (AgentProcess.Place) throws -> Void = { _ in }) throws -> [String: [UInt8]] {
        func makeFiles(_ place: AgentProcess.Place) throws {
            for (name, content) in files {
                let path = "\(place.root)/\(name)"
                if !RawFile.exists(Path.directory(of: path)) { try RawFile.makeDirectory(Path.directory(of: path)) }
                try RawFile.write(content, to: path)
            }
            try prepare(place)
        }
        let with = try AgentProcess.withAgent(prepare: makeFiles) { try run($0.place, $0.place.environment) }
        let without = try AgentProcess.withPlace {
            try makeFiles($0)
            // An empty socket asks for no particular agent, so its absence is no error.
            return try run($0, $0.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
        }
        for outcome in [with, without] {
            #expect(outcome.status == status, "\(outcome.errors)")
            #expect(outcome.output == output)
        }
        #expect(with.errors == errors)
        #expect(without.errors == errors + furtherErrors)
        #expect(with.files == without.files)
        return with.files
    }

    private struct Result {
        var status: Int32 = 0
        var output = ""
        var errors = ""
        /// The contents of the files, by name.
        var files: [String: [UInt8]] = [:]
    }

    private func run(_ place: AgentProcess.Place, _ environment: [String: String]) throws -> Result {
        let paths =
            [("$P", place.preferences), ("$T", place.runtime), ("$H", place.root + "/home"), ("$R", place.root)]
        let marks = (HostIdentifier.current().map { [("$HOST", $0)] } ?? []) + paths
        func named(_ text: String) -> String { marks.reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) } }
        func marked(_ text: String) -> String { marks.reduce(text) { $0.replacingOccurrences(of: $1.1, with: $1.0) } }
        let environment = environment.merging([
            "HOME": named("$H"), "XDG_DATA_HOME": named("$H/share"), "XDG_DATA_DIRS": named("$T/share"),
        ]) { $1 }.merging(self.environment) { $1 }
        var result = Result()
        for (index, command) in commands.enumerated() {
            let isLast = index == commands.count - 1
            let outcome = try Programs.run(
                Programs.defaults, command.map(named), environment: environment,
                input: command.last == "-" ? named(input) : "")
            (result.status, result.output) = (outcome.status, marked(outcome.output))
            result.errors = marked(outcome.errors)
            if !isLast { #expect(outcome.status == 0, "\(command): \(outcome.errors)") }
        }
        for directory in ["", "ByHost/"] {
            let names =
                directory.isEmpty
                ? place.files
                : namesOfFiles(in: "\(place.preferences)/\(directory)").filter { !$0.hasPrefix(".defaultsd.") }
            for name in names where name != "ByHost" {
                result.files[directory + name] = try RawFile.read("\(place.preferences)/\(directory)\(name)")
            }
        }
        return result
    }
}
