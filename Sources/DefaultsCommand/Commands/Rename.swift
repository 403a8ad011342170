import ArgumentParser
import DefaultsCore

/// `defaults rename domain old new`.
struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Gives the value of a key to another key, and removes the old one.",
        discussion: """
            What the new key held before is replaced. Both keys are taken as they are, dots and all.

            EXAMPLES
              defaults rename org.example.editor FontSize TextSize
              defaults rename -g com.example.old com.example.new
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key that is there.", completion: Candidates.key)
    var old: String
    @Argument(help: "The key that it is to be.")
    var new: String

    func run() throws {
        let open = try place.open(domain)
        try open.change(from: try open.valuesIfAny(OpenDomain.replacement)) { values in
            guard let value = values[old] else {
                let near = values.isEmpty ? NotFound.nearDomain(open) : NearName.question(old, among: values.keys)
                throw Failure(
                    "Key \"\(old)\" does not exist in \(open.place.name); leaving defaults unchanged.\(near)", .notFound
                )
            }
            let changes: Difference = old == new ? [:] : [old: nil, new: value]
            return ConditionalEdit(values: changes, expected: [old: value])
        }
    }
}
