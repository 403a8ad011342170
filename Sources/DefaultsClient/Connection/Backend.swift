package import DefaultsCore

/// An interface for reading and writing preferences, either through the agent or through an embedded store on the same
/// files.
///
/// Calls are synchronous, and may be made by only one thread at a time.
package protocol Backend: AnyObject {
    /// The system directories, whose domains are served in addition to the user's.
    var system: SystemDirectories { get }
    /// Returns a domain's current values, or those of some keys, which takes much less time if the domain is large.
    func snapshot(of domain: Domain, keys: [String]?) throws(DefaultsError) -> DomainSnapshot
    /// Returns the current user's domains that have values or are damaged, in order.
    func domains() throws(DefaultsError) -> [Domain]
    /// Returns the current values of the user's domains that have values or are damaged, in order.
    func snapshots() throws(DefaultsError) -> [DomainSnapshot]
    /// Sets and removes keys as one change set.
    ///
    /// The change set is in effect when the call returns, and durable after `synchronize`.
    ///
    /// - Parameters:
    ///   - domain: The domain to edit.
    ///   - values: The new values, by key; `nil` removes the key.
    ///   - replacesAll: Whether to remove all other keys.
    ///   - expected: The values that keys must hold for the edit to be made; `nil` for no condition.
    ///   - origin: The reason for the edit, which is recorded in the history and sent to followers.
    /// - Throws: `changed` if keys hold other values. Read them again, and retry.
    func edit(
        _ domain: Domain, with values: Difference, replacesAll: Bool, expecting expected: Difference?, origin: Origin?
    ) throws(DefaultsError)
    /// Waits until all earlier edits of a domain are durable, and all earlier changes by others are visible.
    ///
    /// - Throws: `notSaved` if some edits can't be saved. They stay in memory as long as this process or the agent
    ///   runs.
    func synchronize(_ domain: Domain) throws(DefaultsError)
}

extension Backend {
    /// Returns a domain's current values.
    package func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot {
        try snapshot(of: domain, keys: nil)
    }

    /// Sets and removes keys as one change set, without an origin.
    package func edit(
        _ domain: Domain, with values: Difference, replacesAll: Bool, expecting expected: Difference? = nil
    ) throws(DefaultsError) {
        try edit(domain, with: values, replacesAll: replacesAll, expecting: expected, origin: nil)
    }
}

/// The choice between a directory's agent and an embedded store.
package enum BackendChoice {
    case agent(AgentConnection)
    case embedded(EmbeddedStore)

    /// The agent or the store, for what both can do.
    package var backend: any Backend {
        switch self {
        case .agent(let agent): agent
        case .embedded(let store): store
        }
    }

    /// The agent, for what only an agent can do.
    package var agent: AgentConnection? { if case .agent(let agent) = self { agent } else { nil } }

    /// The environment variable that makes programs use the files directly, even if an agent is running.
    package static let noAgentVariable = "DEFAULTS_NO_AGENT"

    /// Connects to the directory's agent, or opens an embedded store if no agent answers.
    ///
    /// - Parameters:
    ///   - directory: The preferences directory.
    ///   - address: The socket of the directory's agent.
    ///   - environment: The environment, in which `noAgentVariable` may be set.
    ///   - timeouts: The timeouts of requests to an agent.
    /// - Returns: The connection to the agent, or a store.
    /// - Throws: `DefaultsError` if no agent answers on a socket that the user named, if the agent can't be used, or if
    ///   a directory that the user named is missing.
    package static func open(
        _ directory: PreferencesDirectory, at address: AgentAddress, environment: Environment = Environment([:]),
        timeouts: AgentTimeouts = .usual
    ) throws(DefaultsError) -> BackendChoice {
        let wantsAgent = environment[noAgentVariable] == nil
        if wantsAgent, let agent = try AgentConnection.open(address, for: directory, timeouts: timeouts) {
            return .agent(agent)
        }
        if wantsAgent, address.isExplicit {
            throw AgentAbsence(of: directory, at: address).error(
                "No agent answers at \(address.socketPath).", isOptional: true)
        }
        try directory.checkExistence()
        return .embedded(EmbeddedStore(directory, tellingAgentAt: wantsAgent ? address : nil))
    }
}

extension Backend {
    /// Returns the persistent domains that are searched for an application's values, the winning one first.
    ///
    /// - Parameters:
    ///   - application: The application, or a suite that is used in its place.
    ///   - host: The host; `nil` for this one.
    /// - Returns: The domains, with or without values.
    package func layers(of application: DomainName, onHost host: DomainHost? = nil) -> [Domain] {
        SearchLayer.layers(for: application, suites: [], in: system).compactMap { layer in
            guard case .persistent(var domain) = layer else { return nil }
            if domain.host != .any, let host { domain.host = host }
            return domain
        }
    }
}

extension SystemDirectories {
    /// Returns the absolute path of a domain's file, in one of these directories or in the user's own.
    ///
    /// The file need not exist.
    package func path(of domain: Domain, besides own: PreferencesDirectory) -> String {
        (directory(of: domain.user) ?? own).path(of: domain)
    }
}
