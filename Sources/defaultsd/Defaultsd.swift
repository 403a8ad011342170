import ArgumentParser
import DefaultsCore
import Glibc
import Linux
import Logging

/// The agent's command line.
@main
struct Defaultsd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaultsd",
        abstract: "Watch a directory of preferences, merge edits into its files and publish changes.",
        discussion: """
            The agent serves the preferences in $XDG_CONFIG_HOME or ~/.config to the commands and apps of one user, on \
            the socket $XDG_RUNTIME_DIR/defaultsd/socket, or on the socket that a service manager has opened for it. \
            SIGTERM and SIGINT save pending edits and stop the agent; further signals don't interrupt the saving. \
            SIGHUP makes the agent check every file. SIGUSR2, sent after an upgrade, makes it save pending edits and \
            continue as the installed version, in the same process. Clients reconnect; if a service manager keeps the \
            socket, they miss no change. The agent's settings are in the domain org.defaultsd.agent. Changes to them \
            take effect immediately, except MaximumFileSize and Directory, which are read at startup.
            """,
        version: Version.description
    )

    @Option(help: "The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.")
    var directory: String?

    @Option(help: "The socket's path, instead of DEFAULTSD_SOCKET or the default path.")
    var socket: String?

    @Option(
        help: ArgumentHelp("The log level, instead of the setting LogLevel: \(LogLevelName.all).", valueName: "level"))
    var logLevel: LogLevelName?

    @Option(help: .hidden)
    var endWithParent: Int32?

    static func main() {
        Signals.block()
        main(nil)
    }

    func run() throws {
        StandardDescriptors.openClosed()
        let files = OpenFiles.numbers
        // Files that the agent creates are accessible only to its user; the modes of files that it replaces are
        // preserved.
        umask(0o077)
        // Let a write beyond the file size limit (ulimit -f) fail with an ordinary error instead of a signal.
        signal(SIGXFSZ, SIG_IGN)
        do {
            try OpenFiles.prepare()
            let signals = try Signals()
            if let endWithParent { try Parent.follow(endWithParent) }
            let environment = Environment.current
            let directory = try PreferencesDirectory(option: directory, environment: environment)
            let inherited = try InheritedSocket(environment)
            let address = try address(for: directory, inheriting: inherited, in: environment)
            let agent = Agent(
                serving: directory, at: address, inheriting: inherited, signals: signals, logLevel: logLevel?.level,
                isPrivate: endWithParent != nil, environment: environment)
            if try agent.run() == .restart { try ProgramRestart.perform(keeping: files, inherited) }
        } catch let error as DefaultsError {
            // The process that starts a private agent can use another agent just as well, so don't report this refusal.
            if endWithParent == nil || error.code != .agentRefused {
                let line = Array("defaultsd: \(error)\n".utf8)
                write(STDERR_FILENO, line, line.count)
            }
            throw ExitCode(error.code == .agentRefused ? 75 : 69)
        }
    }

    /// Returns the address to serve, which is that of the inherited socket if there is one.
    ///
    /// - Throws: A `DefaultsError` if the option names another socket.
    private func address(
        for directory: PreferencesDirectory, inheriting inherited: InheritedSocket?, in environment: Environment
    ) throws(DefaultsError) -> AgentAddress {
        let address = try AgentAddress(option: socket, for: directory, environment: environment)
        guard let inherited, inherited.path != address.socketPath else { return address }
        guard socket == nil else {
            throw DefaultsError(
                .directory,
                "The service manager passed the socket \(inherited.path), but --socket names \(address.socketPath).",
                remedy: "Remove --socket from the service, or change ListenStream= of its socket unit.")
        }
        return try AgentAddress(ofInheritedSocket: inherited.path)
    }
}
