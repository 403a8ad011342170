import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults domains`.
struct Domains: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domains",
        abstract: "Prints the names of all domains but the global one, in order.",
        discussion: """
            Those whose file can't be read or understood are among them. With --json it is a list, which is the way to take \
            a name apart that has a comma in it.

            EXAMPLES
              defaults domains
              defaults -currentHost domains
              defaults domains --json | jq -r '.[]'
            """)

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let host = try place.chosenHost()
        let names = try place.open().domains().filter { $0.host == host && !$0.name.isGlobal }.map(\.name).sorted()
        if json {
            let value = PropertyListValue.array(names.map { .string($0.description) })
            return try StandardOutput.write(JSONText.of(value) + "\n")
        }
        if names.isEmpty { return }
        let shown = names.map { $0.description.printable }
        try StandardOutput.write(shown.joined(separator: ", ") + "\n")
    }
}
