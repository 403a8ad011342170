import ArgumentParser
import DefaultsCore
import Glibc
import Logging

/// The agent's command line.
@main
struct Defaultsd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaultsd",
        abstract: "Keeps a directory of preferences live: watches its files, merges edits, posts changes.",
        discussion: """
            It serves the commands and apps of one user, from $XDG_CONFIG_HOME or ~/.config, at \
            $XDG_RUNTIME_DIR/defaultsd/socket. SIGTERM and SIGINT save pending edits and stop the agent; repeated \
            signals don't interrupt that. SIGHUP makes it check every file. Its settings are in the domain \
            org.defaultsd.agent, and take effect at once.
            """,
        version: "0.1.0 (protocol \(Request.protocolVersion))"
    )

    @Option(help: "The preferences directory, instead of DEFAULTS_DIRECTORY and the usual one.")
    var directory: String?

    @Option(help: "The socket's path, instead of DEFAULTSD_SOCKET and the usual one.")
    var socket: String?

    @Option(help: "What is logged, instead of the setting LogLevel: \(LogLevelName.all).")
    var logLevel: LogLevelName?

    @Option(help: .hidden)
    var endWithParent: Int32?

    func run() throws {
        // Whatever the agent makes is for its user alone; files it replaces keep their modes.
        umask(0o077)
        // A file that would grow beyond the limit (ulimit -f) fails to be written, which is reported as any other failure.
        signal(SIGXFSZ, SIG_IGN)
        LifeService.blockSignals()
        do {
            if let endWithParent { try Parent.follow(endWithParent) }
            let environment = Environment.current
            let directory = try PreferencesDirectory(option: directory, environment: environment)
            let address = try AgentAddress(option: socket, for: directory, environment: environment)
            let agent = Agent(
                directory, address, logLevel: logLevel?.level, isPrivate: endWithParent != nil, environment)
            try agent.run()
        } catch let error as DefaultsError {
            // Whoever starts an agent to end with it takes another one's as well, and needn't be told.
            if endWithParent == nil || error.code != .agentRefused {
                let line = Array("defaultsd: \(error)\n".utf8)
                write(STDERR_FILENO, line, line.count)
            }
            throw ExitCode(error.code == .agentRefused ? 75 : 69)
        }
    }
}
