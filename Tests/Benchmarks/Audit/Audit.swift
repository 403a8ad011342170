import ArgumentParser
import DefaultsCore
import ProgramSupport

/// `defaults-bench audit`.
struct Audit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare the running agent's values with its files and its change log.")

    @Option(help: "The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.")
    var directory: String?
    @Option(help: "The agent's socket, instead of DEFAULTSD_SOCKET or the default path.")
    var socket: String?

    func run() throws {
        let environment = Environment.current
        let directory = try PreferencesDirectory(option: directory, environment: environment)
        let address = try AgentAddress(option: socket, for: directory, environment: environment)
        let findings = try Auditor(directory, address, environment).findings()
        for finding in findings { ChildLines.say(finding) }
        if !findings.isEmpty { throw ExitCode(1) }
    }
}
