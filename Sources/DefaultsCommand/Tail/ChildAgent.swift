import DefaultsCore
import Glibc
import Linux

/// A private agent that `tail` starts if none is running.
///
/// When this process ends, the agent ends too, as soon as no other client is connected. If an ordinary agent starts,
/// the private one hands over to it.
struct ChildAgent {
    private let process: ChildProcess

    /// The agent's exit status as a shell reports it; `nil` while it runs.
    var status: Int32? {
        get throws(Failure) { try Failure.translating(process.status) }
    }

    /// The exit status of an agent whose directory or socket another agent already serves.
    static let anotherAgentRuns: Int32 = 75

    /// Starts the `defaultsd` beside this executable or, if there is none, in the PATH.
    ///
    /// When the agent is ready, it reports that to `notifications`, as it would to systemd.
    init(
        _ directory: PreferencesDirectory, _ address: AgentAddress, telling notifications: borrowing NotifySocket
    ) throws(Failure) {
        // Only explicit paths are passed on. The agent finds the default ones itself, and creates them if needed.
        var arguments = ["defaultsd", "--log-level", "warning", "--end-with-parent", "\(getpid())"]
        if directory.isExplicit { arguments += ["--directory", directory.path] }
        if address.isExplicit { arguments += ["--socket", address.socketPath] }
        let beside = Path.directory(of: AppIdentity.current.executable) + "/defaultsd"
        let isBeside = access(beside, X_OK) == 0
        do throws(ChildProcess.Failure) {
            process = try ChildProcess.start(
                isBeside ? beside : "defaultsd", with: arguments,
                variables: ["NOTIFY_SOCKET": notifications.name],
                // Other clients may use the agent, so the terminal's signals must reach only this process.
                leadsSession: true, inheritsFiles: false)
        } catch {
            if isBeside { throw Failure(error) }
            throw Failure(
                "No agent is running, and there is no `defaultsd` to start, neither in \(Path.directory(of: beside)) "
                    + "nor in the PATH. Install it; in a checkout, run `swift build --product defaultsd`.",
                .unavailable)
        }
    }
}
