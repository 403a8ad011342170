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
            agent can be used. It is 75 if the agent doesn't respond within 5 seconds (if it is stopped) or 60 \
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
            throw AgentAbsence(of: directory, at: address).error(starting: location.agentCommand)
        }
        let status = try agent.status()
        try StandardOutput.write(json ? JSONText.of(.dictionary(status)) + "\n" : StatusText.of(Fields(status)))
    }
}
