package import DefaultsCore

/// Finds the agent of a directory, or does without.
package enum BackendChoice {
    /// The directory's agent where one answers, else an embedded store.
    ///
    /// - Throws: when an agent was asked for by a socket of its own and doesn't answer, or the directory is missing that
    ///   someone named.
    package static func open(
        _ directory: PreferencesDirectory, _ address: AgentAddress
    ) throws(DefaultsError) -> any Backend {
        if let agent = try AgentConnection.open(address, for: directory) { return agent }
        if address.isExplicit {
            throw DefaultsError(
                .agentUnavailable,
                "No agent answers at \(address.socketPath); start it with `defaultsd`, or leave --socket "
                    + "and DEFAULTSD_SOCKET away to work without one.")
        }
        try directory.checkExistence()
        return EmbeddedStore(directory)
    }
}
