import ArgumentParser
import DefaultsCore

/// `defaults read-type domain key`.
struct ReadType: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read-type",
        abstract: "Print the type of a key's value.",
        discussion: """
            The type is string, data, integer, float, boolean, date, array or dictionary.

            \(KeyPathOption.discussion)

            EXAMPLES
              defaults read-type org.example.editor FontSize
              defaults read-type -g AppleLanguages.0
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var path: KeyPathOption
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key, or a path into its value.", completion: Candidates.key)
    var key: String

    func run() throws {
        let open = try location.open(domain)
        let key = path.key(key)
        let values = try open.values(for: key)
        let value = try key.path(in: values).value(in: values, of: open.location)
        try StandardOutput.write("Type is \(value.typeName)\n")
    }
}
