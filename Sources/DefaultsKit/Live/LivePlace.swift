package import DefaultsCore

/// Where a process's preferences are: its directories, and the agent's socket.
package struct LivePlace: Sendable {
    package var directory: PreferencesDirectory
    package var address: AgentAddress
    package var system: SystemDirectories

    /// The place that the environment names.
    package init(environment: Environment) throws(DefaultsError) {
        directory = try PreferencesDirectory(environment: environment)
        address = try AgentAddress(for: directory, environment: environment)
        system = SystemDirectories(environment: environment)
    }
}
