import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults domains`.
struct Domains: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the names of all domains but the global one, in order.",
        discussion: """
            EXAMPLES
              defaults domains
              defaults -currentHost domains
              defaults domains | tr ',' '\\n'
            """)

    @OptionGroup var place: PlaceOptions

    func run() throws {
        let host = try place.chosenHost()
        let names = try place.open().domains().filter { $0.host == host && !$0.name.isGlobal }.map(\.name).sorted()
        if names.isEmpty { return }
        let shown = names.map { JSONText.printable($0.description) }
        try StandardOutput.write(shown.joined(separator: ", ") + "\n")
    }
}
