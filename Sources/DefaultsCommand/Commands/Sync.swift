import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults sync [domain…]`.
struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Waits until all that was done before is on the disk, and has been sent to all who follow it.",
        discussion: """
            That is so of edits by any program, and of files that were changed or replaced. Without an agent nobody holds \
            anything back, and there is nothing to wait for.

            EXAMPLES
              defaults sync org.example.editor -g
              cp backup.plist ~/.config/org.example.editor.plist && defaults sync
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domains, or paths of files; all when they are left out.", completion: Candidates.domain)
    var domains: [String] = []

    func run() throws {
        let places = try domains.map { try place.find($0) }
        // A file elsewhere is in nobody's hands.
        let domains = places.isEmpty ? nil : Set(places.filter { $0.directory == nil }.map(\.domain))
        if domains?.isEmpty == true { return }
        guard let agent = try place.open() as? AgentConnection else { return }
        var failures = try agent.barrier(domains).failures.map(\.description)
        guard let last = failures.popLast() else { return }
        failures.forEach { Failure.note($0) }
        throw Failure(last, .inputOutput)
    }
}
