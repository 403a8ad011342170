import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults delete domain [key]`.
struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a domain or a key.",
        discussion: """
            \(KeyPathOption.discussion) If the text is a key and also leads to another \
            value, one of these options is needed.

            EXAMPLES
              defaults delete org.example.editor FontSize
              defaults delete org.example.editor Windows.0
              defaults -currentHost delete org.example.editor
            """,
        aliases: ["remove"])

    @OptionGroup var location: LocationOptions
    @OptionGroup var path: KeyPathOption
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(
        help: "The key, or a path into its value. Without it, the whole domain is deleted.",
        completion: Candidates.key)
    var key: String?

    func run() throws {
        let open = try location.open(domain)
        let consequence = "; nothing is deleted"
        guard let key = key.map(path.key) else {
            _ = try open.values(OpenDomain.replacement, consequence: consequence)
            return try open.edit([:], replacesAll: true)
        }
        let values = try open.values(for: key, use: OpenDomain.replacement, consequence: consequence)
        try open.change(from: values, of: key.candidates) { values in
            try key.checkForDeletion(in: values, of: open.location)
            let found = try key.path(in: values)
            _ = try found.value(in: values, of: open.location, consequence: consequence)
            return try found.edit(in: values, of: open.location) { _ in nil }
        }
    }
}
