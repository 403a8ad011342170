import ProgramSupport
import TestSupport

/// The source of `OptionTable`: the command's verbs and options as Swift, from its own description.
enum OptionTableSource {
    /// The names of operands that are domains.
    private static let domainOperands: Set = ["domain", "domains", "first", "second"]

    /// Returns the source's text.
    static func text() throws -> String {
        let command = try CommandDescription(of: Programs.defaults)
        let verbs = (command.subcommands ?? []).map(verb)
        return """
            // swift-format-ignore-file
            // Generated from `defaults --experimental-dump-help`; see GeneratedFilesTests.

            /// The command's verbs and their options, for everything that reads arguments without the parser.
            enum OptionTable {
                /// The options of all verbs.
                static let common = Verb(names: [], domains: .none,
                    \(options(of: command)))

                /// The verbs, including "help".
                static let verbs: [Verb] = [
            \(verbs.joined(separator: "\n"))
                ]
            }

            """
    }

    private static func verb(_ verb: CommandDescription) -> String {
        let names = ([verb.commandName] + (verb.aliases ?? [])).map { "\"\($0)\"" }.joined(separator: ", ")
        let operands = (verb.arguments ?? []).filter { $0.kind == "positional" && isDomain($0) }
        let domains = operands.isEmpty ? "none" : operands.count > 1 || operands[0].isRepeating ? "several" : "one"
        let isPassthrough = (verb.arguments ?? []).contains { $0.parsingStrategy == "allRemainingInput" }
        let options = options(of: verb)
        let properties = "domains: .\(domains)\(isPassthrough ? ", isPassthrough: true" : "")"
        return "        Verb(names: [\(names)], \(properties),\n            \(options)),"
    }

    private static func isDomain(_ argument: CommandDescription.Argument) -> Bool {
        argument.valueName.map(domainOperands.contains) ?? false
    }

    private static func options(of command: CommandDescription) -> String {
        let common = ["directory", "socket", "currentHost", "host", "app", "version", "h", "help"]
        let isRoot = command.subcommands != nil
        func names(_ kind: String) -> String {
            (command.arguments ?? []).filter { $0.kind == kind }.flatMap { $0.names ?? [] }
                .filter { isRoot || !common.contains($0.name) }.map { "\"-\($0.flag)\"" }.joined(separator: ", ")
        }
        let (flags, options) = ("flags: [\(names("flag"))],", "options: [\(names("option"))]")
        // The line is indented by 12, and ends with two more characters.
        let isLong = flags.count + 1 + options.count + 14 > 120
        return "\(flags)\(isLong ? "\n            " : " ")\(options)"
    }
}
