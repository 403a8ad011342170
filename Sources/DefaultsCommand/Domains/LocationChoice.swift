import DefaultsClient
import DefaultsCore
import Synchronization

/// A choice of directory, agent and host, made by the options of a verb.
protocol LocationChoice {
    var directory: String? { get }
    var socket: String? { get }
    var currentHost: Bool { get }
    var host: String? { get }
}

extension LocationChoice {
    /// Returns the preferences directory and the address of its agent.
    func resolve() throws(DefaultsError) -> (PreferencesDirectory, AgentAddress) {
        let environment = Environment.current
        let directory = try PreferencesDirectory(option: directory, environment: environment)
        if let problem = directory.settingsProblem { SettingsWarning.report(problem) }
        return (directory, try AgentAddress(option: socket, for: directory, environment: environment))
    }

    /// The command that starts an agent for the same directory and socket, in backquotes.
    var agentCommand: String { "`\(AgentCommand.text(directory: directory, socket: socket))`" }

    /// Connects to the agent, or opens an embedded store if no agent is running.
    func open() throws(DefaultsError) -> BackendChoice {
        let (directory, address) = try resolve()
        return try BackendChoice.open(directory, at: address, environment: .current)
    }

    /// Connects to the agent.
    ///
    /// - Parameter need: A sentence about the need for an agent. It begins the message if no agent is found.
    /// - Returns: The connection.
    /// - Throws: `agentUnavailable` with the reason if no agent can be used.
    func openAgent(_ need: String) throws(DefaultsError) -> AgentConnection {
        let (directory, address) = try resolve()
        if Environment.current[BackendChoice.noAgentVariable] != nil {
            throw DefaultsError(.agentUnavailable, need, remedy: "Unset \(BackendChoice.noAgentVariable).")
        }
        if let agent = try AgentConnection.open(address, for: directory) { return agent }
        if !address.isExplicit { try directory.checkExistence() }
        throw AgentAbsence(of: directory, at: address).error(need, starting: agentCommand)
    }

    /// Locates a domain by its name or the path of its file.
    func find(_ argument: String) throws -> DomainLocation {
        try DomainLocation(argument, host: chosenHost(), in: resolve().0)
    }

    /// Returns the directory of a domain's file.
    func directory(of location: DomainLocation) throws(DefaultsError) -> PreferencesDirectory {
        if let directory = location.directory { return directory }
        return try resolve().0
    }

    /// Returns a filter that only domains of the chosen host pass, if the options choose one.
    func narrowed(_ filter: SubscriptionFilter) throws(DefaultsError) -> SubscriptionFilter {
        guard currentHost || host != nil else { return filter }
        var filter = filter
        filter.host = try chosenHost()
        return filter
    }

    /// Opens a domain by its name or the path of its file.
    func open(_ argument: String) throws -> OpenDomain {
        try open(find(argument))
    }

    /// Opens a domain: through the agent, or directly if its file is outside the preferences directory.
    func open(_ location: DomainLocation) throws(DefaultsError) -> OpenDomain {
        guard let directory = location.directory else {
            return OpenDomain(location: location, opened: try open(), choice: self)
        }
        let store = EmbeddedStore(directory, system: .none, mayReplaceDamage: false)
        return OpenDomain(location: location, opened: .embedded(store), choice: self)
    }

    /// Returns the host chosen by the options.
    func chosenHost() throws(DefaultsError) -> DomainHost {
        guard currentHost else { return try DomainHost(identifier: host) }
        guard host == nil else {
            throw DefaultsError(.invalidDomainName, "Use only one of -currentHost and -host.")
        }
        guard let current = HostIdentifier.current() else {
            throw DefaultsError(.invalidDomainName, "This host has no identifier: /etc/machine-id is missing.")
        }
        return try DomainHost(identifier: current)
    }
}

/// The command that starts an agent.
enum AgentCommand {
    /// Returns the command with the options that name a directory and a socket.
    static func text(directory: String?, socket: String?) -> String {
        let options = [directory.map { ["--directory", $0] }, socket.map { ["--socket", $0] }].compactMap(\.self)
        return (["defaultsd"] + options.flatMap(\.self)).map(\.quotedForShell).joined(separator: " ")
    }
}

/// The warning that the agent's settings can't be read, reported at most once per command.
private enum SettingsWarning {
    private static let isGiven = Atomic(false)

    static func report(_ problem: DefaultsError) {
        guard !isGiven.exchange(true, ordering: .relaxed) else { return }
        Failure.report(problem.description)
    }
}
