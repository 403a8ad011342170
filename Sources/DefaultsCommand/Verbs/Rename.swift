import ArgumentParser
import DefaultsCore

/// `defaults rename domain old new`.
struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Rename a key.",
        discussion: """
            If the new key exists, its value is replaced. Both keys are taken literally, including dots.

            EXAMPLES
              defaults rename org.example.editor FontSize TextSize
              defaults rename -g com.example.old com.example.new
            """)

    @OptionGroup var location: LocationOptions
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key to rename.", completion: Candidates.key)
    var old: String
    @Argument(help: "The new name.")
    var new: String

    func run() throws {
        let open = try location.open(domain)
        try open.change(from: try open.valuesIfAny(OpenDomain.replacement)) { values in
            guard let value = values[old] else {
                let near =
                    values.isEmpty ? NotFound.suggestedDomain(open) : Suggestion.question(old, among: values.keys)
                throw Failure(
                    "Key \"\(old)\" does not exist in \(open.location.name); leaving defaults unchanged.\(near)",
                    .notFound
                )
            }
            let changes: Difference = old == new ? [:] : [old: nil, new: value]
            return ConditionalWrite(values: changes, expected: [old: value])
        }
    }
}
