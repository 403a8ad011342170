import ArgumentParser
import DefaultsCore

/// `defaults-bench audit`.
struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares what the running agent has, what its files hold, and what its change log amounts to.")

    @Option(help: "The preferences directory, instead of DEFAULTS_DIRECTORY and the usual one.") var directory: String?
    @Option(help: "The agent's socket, instead of DEFAULTSD_SOCKET and the usual one.") var socket: String?

    func run() throws {
        let environment = Environment.current
        let directory = try PreferencesDirectory(option: directory, environment: environment)
        let address = try AgentAddress(option: socket, for: directory, environment: environment)
        let findings = try Auditor(directory, address).findings()
        for finding in findings { ChildLines.say(finding) }
        if !findings.isEmpty { throw ExitCode(1) }
    }
}
