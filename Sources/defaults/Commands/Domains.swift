import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults domains`.
struct Domains: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the names of all domains but the global one, in order.")

    @OptionGroup var place: PlaceOptions

    func run() throws {
        // A domain that is for one host alone has the same name as the one for any host.
        let names = Set(try place.open().domains().map(\.name)).filter { !$0.isGlobal }.sorted()
        try StandardOutput.write(names.map(\.description).joined(separator: ", ") + "\n")
    }
}
