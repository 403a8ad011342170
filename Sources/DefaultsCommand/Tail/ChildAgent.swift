import DefaultsCore
import Glibc
import Linux

/// A private agent, which `tail` starts where none answers.
///
/// It ends with this process, once nobody else is connected to it, and leaves its place to an ordinary agent that starts.
struct ChildAgent {
    private let process: ChildProcess

    /// How it ended, as the shell has it; `nil` while it runs.
    var status: Int32? {
        get throws(Failure) { try process.status }
    }

    /// What an agent ends with when another serves the directory or the socket already.
    static let isSurplus: Int32 = 75

    /// Starts the `defaultsd` that is beside this executable, or in the PATH.
    ///
    /// It tells `notifications` when it is ready, as it would tell systemd. `nil` when the time was over before there was
    /// one to start.
    init?(
        _ directory: PreferencesDirectory, _ address: AgentAddress, telling notifications: borrowing NotifySocket,
        until end: ContinuousClock.Instant?
    ) throws(Failure) {
        guard let executable = try Self.executable(until: end) else { return nil }
        // What was named is passed on; what wasn't, the agent finds as this process did, and makes it where it is missing.
        var arguments = ["defaultsd", "--log-level", "warning", "--end-with-parent", "\(getpid())"]
        if directory.isExplicit { arguments += ["--directory", directory.path] }
        if address.isExplicit { arguments += ["--socket", address.socketPath] }
        process = try ChildProcess.start(
            executable, arguments,
            variables: ["NOTIFY_SOCKET": notifications.name],
            // What the terminal sends is meant for this process; others may follow the agent.
            leadsSession: true)
    }

    private static func executable(until end: ContinuousClock.Instant?) throws(Failure) -> String? {
        let own = AppIdentity.current.executable
        let beside = Path.directory(of: own) + "/defaultsd"
        if access(beside, X_OK) == 0 { return beside }
        // Found in the PATH, or nowhere.
        guard let checkout = Checkout(ofExecutable: own) else { return "defaultsd" }
        return try checkout.buildAgent(until: end) ? beside : nil
    }
}
