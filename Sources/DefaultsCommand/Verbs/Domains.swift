import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults domains`.
struct Domains: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domains",
        abstract: "List all domains except the global one.",
        discussion: """
            The list includes domains whose file can't be read or parsed. --json prints an array, which is safe for \
            names that contain a comma.

            EXAMPLES
              defaults domains
              defaults -currentHost domains
              defaults domains --json | jq -r '.[]'
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let host = try location.chosenHost()
        let domains = try location.open().backend.domains()
        let names = domains.filter { $0.host == host && !$0.name.isGlobal }.map(\.name).sorted()
        if json {
            let value = PropertyListValue.array(names.map { .string($0.description) })
            return try StandardOutput.write(JSONText.of(value) + "\n")
        }
        if names.isEmpty { return }
        let shown = names.map { $0.description.printable }
        try StandardOutput.write(shown.joined(separator: ", ") + "\n")
    }
}
