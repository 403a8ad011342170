import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults status`.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the agent's status.",
        discussion: """
            Prints what the agent watches, its subscribers, unsaved edits and errors. The exit status is 69 if no \
            agent is running. It is 75 if the agent doesn't respond within 5 seconds (if it is stopped) or 60 \
            seconds (if it is busy).

            EXAMPLES
              defaults status
              defaults status --json | jq .pid
              defaults status >/dev/null || echo 'no agent'
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let (directory, address) = try location.resolve()
        guard let agent = try AgentConnection.open(address, for: directory) else {
            if let obstacle = address.obstacle { throw obstacle }
            throw Failure(
                "No agent serves \(directory.path) (at \(address.socketPath)); commands work on its files directly. "
                    + "To start an agent, run \(location.agentCommand).", .unavailable)
        }
        let status = try agent.status()
        try StandardOutput.write(json ? JSONText.of(.dictionary(status)) + "\n" : StatusText.of(Fields(status)))
    }
}
