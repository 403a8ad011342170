import Foundation

/// A manual page in mdoc, generated from a program's description of its command line and from sections of its own.
struct ManualPage {
    let command: CommandDescription
    /// The program, if `command` is one of its verbs.
    var program: String?
    let section: Int
    /// The sections between DESCRIPTION and EXAMPLES, in mdoc.
    let middle: String
    /// Examples in addition to those of the description.
    var examples: [String] = []
    /// The sections after EXAMPLES, in mdoc.
    let end: String

    /// The page.
    var text: String {
        let name = program.map { "\($0)-\(command.commandName)" } ?? command.commandName
        let common = Set(options(of: command).map(\.self))
        var lines = [
            #".\" Generated from `\#(program ?? name) --experimental-dump-help`; see GeneratedFilesTests."#,
            ".Dd November 21, 2026",
            ".Dt \(name.uppercased()) \(section)", ".Os defaultsd", ".Sh NAME", ".Nm \(name)",
            ".Nd \(Self.ending(command.abstract ?? ""))", ".Sh SYNOPSIS",
        ]
        for verb in command.verbs {
            lines += [".Nm", ".Cm \(verb.commandName)"] + synopsis(of: verb, without: common)
        }
        if command.verbs.isEmpty {
            let invocation = program.map { [".Nm \($0)", ".Cm \(command.commandName)"] } ?? [".Nm"]
            lines += invocation + synopsis(of: command, without: [])
        }
        // Without the paragraph that refers to this page.
        lines += [".Sh DESCRIPTION"] + Self.prose(command.paragraphs.filter { !$0.contains("`man \(name)`") })
        lines += [".Pp", command.verbs.isEmpty ? "The options are:" : "Every verb has these options:"]
        lines += list(of: options(of: command))
        if !command.verbs.isEmpty { lines += [".Ss Verbs"] }
        for verb in command.verbs {
            let names = ([verb.commandName] + (verb.aliases ?? [])).map { "Cm \($0)" }.joined(separator: " , ")
            lines += [".Bl -tag -width Ds", ".It \(names)"] + Self.prose([verb.abstract ?? ""] + verb.paragraphs)
            let own = options(of: verb).filter { !common.contains($0) }
            if !own.isEmpty { lines += list(of: own) }
            lines += [".El"]
        }
        lines.append(middle.trimmingCharacters(in: .newlines))
        let all = examples + command.examples + command.verbs.flatMap(\.examples)
        lines += [".Sh EXAMPLES", ".Bd -literal -offset indent"] + all.map(Self.literal) + [".Ed"]
        lines.append(end.trimmingCharacters(in: .newlines))
        return lines.joined(separator: "\n") + "\n"
    }

    /// An option as the page shows it, comparable so that options that all verbs share are listed once.
    private struct Option: Hashable {
        let names: [String]
        let value: String?
        let abstract: String

        var macro: String {
            names.map { "Fl \($0)" }.joined(separator: " , ") + (value.map { " Ar \($0)" } ?? "")
        }
    }

    private func options(of command: CommandDescription) -> [Option] {
        (command.arguments ?? []).filter { $0.kind != "positional" && $0.shouldDisplay }.map {
            Option(
                names: ($0.names ?? []).map(\.flag), value: $0.kind == "option" ? $0.valueName : nil,
                abstract: $0.abstract ?? "")
        }
    }

    private func synopsis(of command: CommandDescription, without common: Set<Option>) -> [String] {
        options(of: command).filter {
            !common.contains($0) && !$0.names.contains("-help") && !$0.names.contains("-version")
        }
        .map { ".Op \($0.macro.replacingOccurrences(of: " , ", with: " | "))" }
            + (command.arguments ?? []).filter { $0.kind == "positional" && $0.shouldDisplay }.map {
                let words = "Ar \($0.valueName ?? "argument")\($0.isRepeating ? " ..." : "")"
                return $0.isOptional ? ".Op \(words)" : ".\(words)"
            }
    }

    private func list(of options: [Option]) -> [String] {
        [".Bl -tag -width Ds"] + options.flatMap { [".It \($0.macro)"] + Self.prose([$0.abstract]) } + [".El"]
    }

    /// Returns paragraphs as mdoc lines, one sentence per line.
    static func prose(_ paragraphs: [String]) -> [String] {
        Array(
            paragraphs.map { paragraph in
                paragraph.split(separator: "\n").flatMap { line in
                    line.replacing(/([.;:]) (?=[A-Z])/) { "\($0.output.1)\n" }.split(separator: "\n")
                }.map { literal(String($0)) }
            }.filter { !$0.isEmpty }.joined(separator: [".Pp"]))
    }

    /// Returns text in which mdoc finds neither a macro nor an escape.
    private static func literal(_ text: String) -> String {
        let escaped = text.replacingOccurrences(of: "\\", with: "\\e")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&\(escaped)" : escaped
    }

    /// Returns a sentence in the form of the NAME section.
    private static func ending(_ sentence: String) -> String {
        let end = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        return end.prefix(1).lowercased() + end.dropFirst()
    }
}
