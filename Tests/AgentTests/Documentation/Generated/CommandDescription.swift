import Foundation
import ProgramSupport
import TestSupport

/// A program's description of its command line, as `--experimental-dump-help` prints it.
struct CommandDescription: Decodable {
    let commandName: String
    var aliases: [String]?
    var abstract: String?
    var discussion: String?
    var arguments: [Argument]?
    var subcommands: [CommandDescription]?
    var shouldDisplay: Bool?

    /// An argument, an option or a flag.
    struct Argument: Decodable {
        let kind: String
        var abstract: String?
        var valueName: String?
        var names: [Name]?
        var parsingStrategy: String?
        let isOptional: Bool
        let isRepeating: Bool
        let shouldDisplay: Bool

        /// One of an option's names.
        struct Name: Decodable {
            let kind: String
            let name: String

            /// The name without its first dash.
            var flag: String { kind == "long" ? "-\(name)" : name }
        }
    }

    private struct Document: Decodable { let command: CommandDescription }

    /// Runs a program to get its description.
    init(of program: String) throws {
        let outcome = try Programs.run(program, ["--experimental-dump-help"])
        self = try JSONDecoder().decode(Document.self, from: Data(outcome.output.utf8)).command
    }

    /// The program's own verbs, without `help` and hidden ones.
    var verbs: [CommandDescription] {
        (subcommands ?? []).filter { $0.commandName != "help" && $0.shouldDisplay != false }
    }

    /// The paragraphs of the discussion, except the examples.
    var paragraphs: [String] { blocks.filter { !$0.hasPrefix("EXAMPLES") } }

    /// The examples, one per line.
    var examples: [String] {
        blocks.filter { $0.hasPrefix("EXAMPLES") }.flatMap {
            $0.split(separator: "\n").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    private var blocks: [String] { discussion.map { $0.components(separatedBy: "\n\n") } ?? [] }
}
