import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults status`.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tells how the agent does: what it watches, who follows it, what is not saved, what went wrong.",
        discussion: """
            Where none answers the exit status is 69; where one is there and doesn't answer, since it is stopped (after 5 s) \
            or has very much to do (after a minute), it is 75.

            EXAMPLES
              defaults status
              defaults status --json | jq .pid
              defaults status >/dev/null || echo 'no agent'
            """)

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Prints JSON.") var json = false

    func run() throws {
        let (directory, address) = try place.resolve()
        guard let agent = try AgentConnection.open(address, for: directory) else {
            if let obstacle = address.obstacle { throw obstacle }
            throw Failure(
                "No agent serves \(directory.path) (at \(address.socketPath)); the command works on its files directly. "
                    + "`defaultsd` starts one.", .unavailable)
        }
        let status = try agent.status()
        try StandardOutput.write(json ? JSONText.of(.dictionary(status)) + "\n" : StatusText.of(Fields(status)))
    }
}
