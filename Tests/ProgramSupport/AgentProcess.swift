package import DefaultsClient
package import DefaultsCore
import DefaultsKit
package import Glibc
import PropertyList
package import TestSupport

/// A running `defaultsd` with its own directories, and the operations that tests perform on it.
package final class AgentProcess {
    package let place: Place
    private let program: RunningProgram
    /// The command prefix that runs this agent and its user's commands, such as `setpriv`.
    private let launcher: [String]

    /// Runs a test with new directories, without an agent.
    package static func withPlace<Result>(_ body: (Place) throws -> Result) throws -> Result {
        try withTemporaryDirectory { try body(Place(in: $0)) }
    }

    /// Runs a test with an agent that starts after `prepare` has filled the directories.
    package static func withAgent<Result>(
        prepare: (Place) throws -> Void = { _ in }, _ body: (AgentProcess) throws -> Result
    ) throws -> Result {
        try withPlace { place in
            try prepare(place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            return try body(agent)
        }
    }

    /// The command prefix that runs a program as "nobody", if the tests run as root.
    package static let asNobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    /// Whether `asNobody` works here.
    package static let hasNobody =
        geteuid() == 0 && (try? Programs.run(asNobody[0], asNobody[1...] + ["true"]).status) == 0

    /// Starts an agent and returns when it reports that it is ready.
    package init(_ place: Place, arguments: [String] = [], launcher: [String] = []) throws {
        self.place = place
        self.launcher = launcher
        let ready = try ReadySocket()
        let command = launcher + [Programs.defaultsd] + arguments
        program = try RunningProgram(
            command[0], Array(command[1...]),
            environment: place.environment.merging(["NOTIFY_SOCKET": ready.name]) { $1 })
        let isReady = eventually(within: 30) { ready.hasCome() || !isRunning }
        guard isReady, isRunning else {
            throw AgentFailure(description: "The agent didn't become ready: \(complaints())")
        }
    }

    package struct AgentFailure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    package var pid: pid_t { program.pid }
    package var isRunning: Bool { program.isRunning }

    /// Sends a signal.
    ///
    /// After SIGSTOP, returns only when the agent has stopped.
    package func signal(_ number: Int32) { program.signal(number) }

    /// Ends the agent as a service manager does and returns its exit status.
    @discardableResult
    package func terminate() -> Int32 {
        signal(SIGTERM)
        return program.waitUntilExit()
    }

    /// Waits for the agent to exit.
    ///
    /// Returns its exit status as a shell reports it, or `nil` after a timeout.
    package func status(within seconds: Double) -> Int32? { program.status(within: seconds) }

    /// Ends the agent as a crash does.
    package func kill() { program.kill() }

    /// Ends the agent and returns its standard error.
    package func complaints() -> String { program.complaints() }

    /// Returns the agent's resident memory, including shared libraries.
    package func residentKilobytes() throws -> Int { try program.kilobytes("VmRSS") }

    /// Opens a connection to the agent.
    package func connect() throws -> AgentConnection { try place.connect() }

    /// Returns the agent's status report.
    package func status() throws -> DomainValues {
        try connect().status()
    }

    /// Returns when the agent has seen and saved all earlier changes.
    package func synchronize() throws {
        _ = try connect().barrier()
    }

    /// Runs `defaults` with this agent.
    @discardableResult
    package func defaults(_ arguments: String...) throws -> Programs.Outcome { try run(arguments) }

    /// Runs `defaults` with this agent and any number of arguments.
    @discardableResult
    package func run(_ arguments: [String]) throws -> Programs.Outcome {
        let command = launcher + [Programs.defaults] + arguments
        return try Programs.run(command[0], Array(command[1...]), environment: place.environment)
    }

    /// Starts `defaults` with this agent, without waiting for it to exit.
    package func start(_ arguments: String...) throws -> RunningProgram {
        try RunningProgram(Programs.defaults, arguments, environment: place.environment)
    }

    /// Runs a shell script in the preferences directory.
    @discardableResult
    package func shell(_ script: String) throws -> Programs.Outcome {
        try Programs.shell(script, in: place.preferences, environment: place.environment)
    }

    /// Makes the agent leave edits unsaved until something requests a save, and returns once the settings are in
    /// effect.
    package func holdEdits() throws {
        try defaults("write", AgentSettings.domainName, "SaveLimit", "-int", "60000")
        try defaults("write", AgentSettings.domainName, "SaveDelay", "-int", "60000")
        _ = try connect().barrier()
    }
}
