import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults sync [domain…]`.
struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Wait until earlier changes are on disk and delivered.",
        discussion: """
            Waits until all earlier edits and file changes are on disk and sent to every subscriber. Without \
            an agent, there is nothing to wait for.

            EXAMPLES
              defaults sync org.example.editor -g
              cp backup.plist ~/.config/org.example.editor.plist && defaults sync
            """)

    @OptionGroup var location: LocationOptions
    @Argument(help: "The domains, or paths of files (default: all domains).", completion: Candidates.domain)
    var domains: [String] = []

    func run() throws {
        let locations = try domains.map { try location.find($0) }
        // The agent doesn't manage a file outside the preferences directory.
        let domains = locations.isEmpty ? nil : Set(locations.filter { $0.directory == nil }.map(\.domain))
        if domains?.isEmpty == true { return }
        guard let agent = try location.open().agent else { return }
        var failures = try agent.barrier(domains).failures.map(\.description)
        guard let last = failures.popLast() else { return }
        failures.forEach { Failure.report($0) }
        throw Failure(last, .inputOutput)
    }
}
