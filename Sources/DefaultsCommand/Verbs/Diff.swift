import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults diff A B`.
struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare two domains, a domain and a file, or a domain and its past.",
        discussion: """
            Prints one line for each key that differs: the key, its value in the first operand, an arrow, and its \
            value in the second. (none) means that the key is missing. --json prints one object: "changes" is a list \
            of objects with "key", "kind" (added, changed or removed), "old" and "new".

            An operand that contains "/" or ends with ".plist" is a file, a property list in any format; - is standard \
            input. The exit status is 0 if both are the same, 1 if they differ, and greater than 1 if they can't be \
            compared.

            EXAMPLES
              defaults diff org.example.editor org.example.editor-beta
              defaults diff org.example.editor ~/backup/org.example.editor.plist
              defaults diff org.example.editor --since yesterday
              ssh elsewhere cat editor.plist | defaults diff org.example.editor -
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false
    @Option(help: ArgumentHelp("Use colors: auto, always or never.", valueName: "when"))
    var color: ColorChoice = .auto
    @Argument(help: "The first domain or file.", completion: Candidates.domain) var first: String
    @Argument(help: "The second domain or file.", completion: Candidates.domain) var second: String?
    @Option(
        help: ArgumentHelp(
            "Compare the domain at this time, or number of `defaults log`, with now.", valueName: "time"),
        transform: HistoryPoint.init(typed:))
    var since: HistoryPoint?

    func validate() throws {
        guard (second == nil) != (since == nil) else {
            throw ValidationError("Give either a second domain or file, or --since with a time.")
        }
    }

    func run() throws {
        var backend: (any Backend)?
        func opened() throws -> any Backend {
            let opened = try backend ?? location.open()
            backend = opened
            return opened
        }
        let changes: [KeyChange]
        var isUncertain = false
        if let since {
            let open = try location.open(first)
            let domain = try PastDomain(open, at: since, location)
            isUncertain = domain.report()
            let past = DiffOperand(domain.values)
            changes = past.changes(to: DiffOperand(try open.valuesIfAny("Comparing its last good values.")))
        } else {
            let old = try DiffOperand(first, location, opened)
            changes = old.changes(to: try DiffOperand(second ?? "", location, opened))
        }
        if json {
            try StandardOutput.write(JSONText.object([("changes", ChangeJSON.list(changes))]) + "\n")
        } else {
            let style = ChangeText(isColored: color.isColored())
            try StandardOutput.write(changes.map { style.text($0) + "\n" }.joined())
        }
        if isUncertain { throw ExitCode(ExitStatus.dataError.rawValue) }
        if !changes.isEmpty { throw ExitCode(1) }
    }
}
