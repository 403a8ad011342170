import DefaultsCore
import DefaultsKit
import Synchronization

/// Which directory, which agent, which host: what the options of every verb with a domain say.
protocol PlaceChoice {
    var directory: String? { get }
    var socket: String? { get }
    var currentHost: Bool { get }
    var host: String? { get }
}

extension PlaceChoice {
    /// The directory and the address of its agent.
    func resolve() throws(DefaultsError) -> (PreferencesDirectory, AgentAddress) {
        let environment = Environment.current
        let directory = try PreferencesDirectory(option: directory, environment: environment)
        if let problem = directory.settingsProblem { SettingsWarning.note(problem) }
        return (directory, try AgentAddress(option: socket, for: directory, environment: environment))
    }

    /// The agent, or a store of the command's own.
    func open() throws(DefaultsError) -> any Backend {
        let (directory, address) = try resolve()
        return try BackendChoice.open(directory, address, environment: .current)
    }

    /// Where a domain is, by its name or the path of a file.
    func find(_ argument: String) throws -> DomainPlace {
        try DomainPlace(argument, host: chosenHost(), in: resolve().0)
    }

    /// The directory of a domain.
    func directory(of place: DomainPlace) throws(DefaultsError) -> PreferencesDirectory {
        if let directory = place.directory { return directory }
        return try resolve().0
    }

    /// A domain by its name or a file by its path, with what reads and writes it.
    func open(_ argument: String) throws -> OpenDomain {
        try open(find(argument))
    }

    /// A domain with what reads and writes it: the agent's are its alone, a file elsewhere is nobody's.
    func open(_ place: DomainPlace) throws(DefaultsError) -> OpenDomain {
        guard let directory = place.directory else { return OpenDomain(place: place, backend: try open()) }
        return OpenDomain(place: place, backend: EmbeddedStore(directory, system: .none, mayReplaceDamage: false))
    }

    /// The host that the options name.
    func chosenHost() throws(DefaultsError) -> DomainHost {
        guard currentHost else { return try DomainHost(identifier: host) }
        guard host == nil else {
            throw DefaultsError(.invalidDomainName, "-currentHost and -host don't go together; name one.")
        }
        guard let current = HostIdentifier.current() else {
            throw DefaultsError(.invalidDomainName, "This host has no identifier: /etc/machine-id is missing.")
        }
        return try DomainHost(identifier: current)
    }
}

/// The warning that the agent's settings can't be taken, which a command gives once.
private enum SettingsWarning {
    private static let isGiven = Atomic(false)

    static func note(_ problem: DefaultsError) {
        guard !isGiven.exchange(true, ordering: .relaxed) else { return }
        Failure.note(problem.description)
    }
}
