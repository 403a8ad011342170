import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults status`.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tells how the agent does: what it watches, who follows it, what is not saved, what went wrong.")

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let (directory, address) = try place.resolve()
        guard let agent = try AgentConnection.open(address, for: directory, patience: PlaceOptions.patience) else {
            throw Failure(
                "No agent serves \(directory.path) (at \(address.socketPath)); the command works on its files directly. "
                    + "`defaultsd` starts one.", .unavailable)
        }
        let status = try agent.status()
        try StandardOutput.write(json ? JSONText.of(.dictionary(status)) + "\n" : StatusText.of(Fields(status)))
    }
}
