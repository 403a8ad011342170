import DefaultsCore
import Glibc

/// An agent that `tail` starts where none answers, and that ends with it.
enum ChildAgent {
    /// Starts the `defaultsd` that is beside this executable, or in the PATH, and waits until it is ready.
    static func start(_ directory: PreferencesDirectory, _ address: AgentAddress) throws(Failure) {
        // It tells when it is ready as it would tell systemd.
        let notifications = try NotifySocket()
        let child = try ChildProcess.start(
            executable(),
            [
                "defaultsd", "--directory", directory.path, "--socket", address.socketPath, "--log-level", "warning",
                "--end-with-parent", "\(getpid())",
            ],
            environment: ["NOTIFY_SOCKET": notifications.name])
        while try !notifications.isReady(within: 50) {
            if child.hasEnded {
                throw Failure("The agent that was started has ended at once; it says above why.", .unavailable)
            }
        }
    }

    private static func executable() throws(Failure) -> String {
        let own = AppIdentity.current.executable
        let beside = own.lastIndex(of: "/").map { String(own[..<$0]) + "/defaultsd" } ?? "defaultsd"
        if access(beside, X_OK) == 0 { return beside }
        // Found in the PATH, or nowhere.
        guard let checkout = Checkout(ofExecutable: own) else { return "defaultsd" }
        try checkout.buildAgent()
        return beside
    }
}
