package import DefaultsCore

/// Where a process's preferences are: its directories, and the agent's socket.
package struct LivePlace: Sendable {
    package var directory: PreferencesDirectory
    /// The socket; or why there can be no agent, which the files do without.
    package var address: Result<AgentAddress, DefaultsError>
    package var system: SystemDirectories

    /// The place that the environment names.
    package init(environment: Environment) throws(DefaultsError) {
        let directory = try PreferencesDirectory(environment: environment)
        self.directory = directory
        address = Result { () throws(DefaultsError) in try AgentAddress(for: directory, environment: environment) }
        system = SystemDirectories(environment: environment)
    }
}
