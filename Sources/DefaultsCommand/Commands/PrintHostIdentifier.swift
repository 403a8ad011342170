import ArgumentParser
import DefaultsCore

/// `defaults printHostIdentifier`, which Apple's tool has and doesn't tell of.
struct PrintHostIdentifier: ParsableCommand {
    static let configuration = CommandConfiguration(
        // Verbs come in lower case.
        commandName: "printhostidentifier",
        abstract: "Prints this host's identifier, as -host takes it.", shouldDisplay: false)

    func run() throws {
        guard let identifier = HostIdentifier.current() else {
            throw Failure("This host has no identifier: /etc/machine-id is missing.", .notFound)
        }
        try StandardOutput.write(identifier + "\n")
    }
}
