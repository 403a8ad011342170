import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults import domain file`.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Sets the keys of a domain that a property list or JSON has; other keys stay.",
        discussion: """
            The file may be XML, binary, old-style text or JSON, as `read --json` prints it. All keys are set in one step.

            EXAMPLES
              defaults import org.example.editor settings.plist
              defaults export org.example.editor - | defaults import org.example.viewer -
              defaults read --json org.a | jq '.Size = 14' | defaults import org.a -
            """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var force: ForceOption
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The file, or - for standard input.", completion: .file()) var path: FilePath

    func run() throws {
        let target = try place.find(domain)
        let document = try InputDocument(path)
        let values = try document.values("; \(target.name) is unchanged")
        // Standard input may take its time, in which an agent comes or goes.
        if force.isForced { try place.replaceDamage(of: domain) }
        let open = try place.open(target)
        _ = try open.valuesToReplace()
        try open.edit(values.mapValues { $0 })
    }
}
