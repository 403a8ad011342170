import ArgumentParser
import DefaultsCore

/// `defaults printHostIdentifier`, an undocumented verb of Apple's tool.
struct PrintHostIdentifier: ParsableCommand {
    static let configuration = CommandConfiguration(
        // `Arguments` lowercases verbs.
        commandName: "printhostidentifier",
        abstract: "Print this host's identifier, for -host.", shouldDisplay: false)

    func run() throws {
        guard let identifier = HostIdentifier.current() else {
            throw Failure("This host has no identifier: /etc/machine-id is missing.", .notFound)
        }
        try StandardOutput.write(identifier + "\n")
    }
}
