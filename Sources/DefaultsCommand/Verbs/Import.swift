import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults import domain file`.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Set the keys of a domain from a property list or JSON.",
        discussion: """
            The file may be XML, binary, old-style text, or JSON as `read --json` prints it. All its keys are set as \
            one change; the domain's other keys stay as they are. A number in JSON changes nothing if it is what a \
            program that holds numbers as 64-bit reals would write for the stored one, such as 2 for 2.0.

            \(StrictOption.discussion)

            A message names the keys whose type is changed. `read` prints numbers, dates and Booleans as strings, so \
            import what `export` or `read --json` has printed instead.

            EXAMPLES
              defaults import org.example.editor settings.plist
              defaults export org.example.editor - | defaults import org.example.viewer -
              defaults read --json org.a | jq '.Size = 14' | defaults import org.a -
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var force: ForceOption
    @OptionGroup var strict: StrictOption
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The input file, or - for standard input.", completion: .file()) var path: FilePath

    func run() throws {
        let target = try location.find(domain)
        let document = try InputDocument(path)
        let values = try document.values("; \(target.name) is unchanged")
        // Reading standard input may take long enough for an agent to start or stop, so don't connect earlier than
        // this.
        if force.isForced { try location.replaceDamage(of: domain) }
        var open = try location.open(target)
        open.isStrict = strict.isStrict
        let old = try open.valuesToReplace()
        let new = document.isJSON ? values.preservingNumbers(of: old) : values
        try open.edit(new.mapValues { $0 })
        open.reportTypeChanges(of: new, replacing: old, isText: document.format == .oldStyle)
    }
}
