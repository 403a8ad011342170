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

            With --since, the domain's values at that time are compared with those now, or at the time of --until.

            An operand that contains "/" or ends with ".plist" is a file, a property list in any format; - is standard \
            input. The exit status is 0 if both are the same, 1 if they differ, and greater than 1 if they can't be \
            compared.

            EXAMPLES
              defaults diff org.example.editor org.example.editor-beta
              defaults diff org.example.editor ~/backup/org.example.editor.plist
              defaults diff org.example.editor --since yesterday --until 1h
              ssh elsewhere cat editor.plist | defaults diff org.example.editor -
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var style: ColorOption
    @Argument(help: "The first domain or file.", completion: Candidates.domain) var first: String
    @Argument(help: "The second domain or file.", completion: Candidates.domain) var second: String?
    @OptionGroup var range: HistoryRange

    func validate() throws {
        if range.until != nil, range.since == nil { throw ValidationError("--until needs --since.") }
        guard (second == nil) != (range.since == nil) else {
            throw ValidationError("Give either a second domain or file, or --since with a time.")
        }
    }

    func run() throws {
        var backend: BackendChoice?
        func opened() throws -> BackendChoice {
            let opened = try backend ?? location.open()
            backend = opened
            return opened
        }
        let changes: [KeyChange]
        var isUncertain = false
        if let since = range.since {
            let open = try location.open(first)
            func values(at point: HistoryPoint) throws -> DomainValues {
                let domain = try PastDomain(open, at: point, location)
                if domain.isUnknown {
                    throw Failure(NotFound.domain(open, consequence: ", and has no history").message, .noInput)
                }
                isUncertain = domain.report() || isUncertain
                return domain.values
            }
            let old = DiffOperand(try values(at: since))
            let new = try range.until.map(values) ?? open.valuesIfAny("Comparing its last good values.")
            changes = old.changes(to: DiffOperand(new))
        } else {
            let old = try DiffOperand(first, at: location, opened)
            changes = old.changes(to: try DiffOperand(second ?? "", at: location, opened))
        }
        if json {
            try StandardOutput.write(JSONText.object([("changes", ChangeJSON.list(changes))]) + "\n")
        } else {
            let style = style.text
            try StandardOutput.write(changes.map { style.text($0) + "\n" }.joined())
        }
        if isUncertain { throw ExitCode(ExitStatus.dataError.rawValue) }
        if !changes.isEmpty { throw ExitCode(1) }
    }
}
