import ArgumentParser
import DefaultsCore
import DefaultsKit

/// Which directory, which agent, which host.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: "The preferences directory, instead of DEFAULTS_DIRECTORY and the usual one.", completion: .directory)
    var directory: String?

    @Option(help: "The agent's socket, instead of DEFAULTSD_SOCKET and the usual one.", completion: .file())
    var socket: String?

    @Flag(
        name: .customLong("currentHost", withSingleDash: true), help: "Only what is for this host.")
    var currentHost = false

    @Option(name: .customLong("host", withSingleDash: true), help: "Only what is for the host with this identifier.")
    var host: String?

    /// How long the command waits for an agent's answer, in milliseconds: one that takes longer is stopped.
    static let patience: Int64 = 5_000

    /// The directory and the address of its agent.
    func resolve() throws(DefaultsError) -> (PreferencesDirectory, AgentAddress) {
        let environment = Environment.current
        let directory = try PreferencesDirectory(option: directory, environment: environment)
        return (directory, try AgentAddress(option: socket, for: directory, environment: environment))
    }

    /// The agent, or a store of the command's own.
    func open() throws(DefaultsError) -> any Backend {
        let (directory, address) = try resolve()
        return try BackendChoice.open(
            directory, address, environment: .current, patience: Self.patience)
    }

    /// A domain by its name, for the host that the options name.
    func domain(_ name: String) throws(DefaultsError) -> Domain {
        var identifier = host
        if currentHost {
            guard let current = HostIdentifier.current() else {
                throw DefaultsError(.invalidDomainName, "This host has no identifier: /etc/machine-id is missing.")
            }
            identifier = current
        }
        return Domain(try DomainName(name), host: try DomainHost(identifier: identifier))
    }
}
