import ArgumentParser
import DefaultsCore

/// `defaults socket`.
struct Socket: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socket",
        abstract: "Print the path of the agent's socket.",
        discussion: """
            Prints the path at which programs reach the agent of the directory, whether or not one is running, and \
            starts nothing. A program that speaks the agent's protocol needs no other search.

            EXAMPLES
              defaults socket
              defaults socket --directory /srv/preferences
            """)

    @OptionGroup var location: LocationOptions

    func run() throws {
        let (directory, address) = try location.resolve()
        if let problem = address.problem { throw problem }
        // An agent that was started with other variables may listen elsewhere.
        let holder = address.isExplicit ? nil : AgentClaim.holder(ofDirectory: directory)
        try StandardOutput.write((holder?.socketPath ?? address.socketPath) + "\n")
    }
}
