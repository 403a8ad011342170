package import DefaultsCore

/// Finds the agent of a directory, or does without.
package enum BackendChoice {
    /// The variable that has programs work on the files alone when it is set, even where an agent runs.
    package static let noAgentVariable = "DEFAULTS_NO_AGENT"

    /// The directory's agent where one answers, else an embedded store.
    ///
    /// - Parameters:
    ///   - directory: the directory.
    ///   - address: where its agent would listen.
    ///   - environment: what may say that no agent is wanted.
    ///   - patience: how long an agent may take to answer.
    /// - Returns: the agent's connection, or a store.
    /// - Throws: when an agent was asked for by a socket of its own and doesn't answer, or the directory is missing that
    ///   someone named.
    package static func open(
        _ directory: PreferencesDirectory, _ address: AgentAddress, environment: Environment = Environment([:]),
        patience: AgentPatience = .usual
    ) throws(DefaultsError) -> any Backend {
        let wantsAgent = environment[noAgentVariable] == nil
        if wantsAgent, let agent = try AgentConnection.open(address, for: directory, patience: patience) {
            return agent
        }
        if wantsAgent, address.isExplicit {
            throw DefaultsError(
                .agentUnavailable,
                "No agent answers at \(address.socketPath); start it with `defaultsd`, or leave --socket "
                    + "and DEFAULTSD_SOCKET away to work without one.")
        }
        try directory.checkExistence()
        return EmbeddedStore(directory, tellingAgentAt: wantsAgent ? address : nil)
    }
}
