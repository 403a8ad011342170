import DefaultsCore
import Glibc

/// An agent that `tail` starts where none answers, and that ends with it.
struct ChildAgent {
    /// Starts the `defaultsd` that is beside this executable, or in the PATH, and waits until it is ready.
    static func start(_ directory: PreferencesDirectory, _ address: AgentAddress) throws {
        // It tells when it is ready as it would tell systemd.
        let notifications = try NotifySocket()
        let own = AppIdentity.current.executable
        let beside = own.lastIndex(of: "/").map { String(own[..<$0]) + "/defaultsd" } ?? "defaultsd"
        let path = access(beside, X_OK) == 0 ? beside : "defaultsd"
        let child = try spawn(
            path,
            [
                "defaultsd", "--directory", directory.path, "--socket", address.socketPath, "--log-level", "warning",
                "--end-with-parent", "\(getpid())",
            ],
            environment: ["NOTIFY_SOCKET=\(notifications.name)"])
        while try !notifications.isReady(within: 50) {
            var status: Int32 = 0
            if waitpid(child, &status, WNOHANG) == child {
                throw Failure("The agent that was started has ended at once; it says above why.", .unavailable)
            }
        }
    }

    private static func spawn(_ path: String, _ arguments: [String], environment added: [String]) throws(Failure)
        -> pid_t
    {
        var inherited: [String] = []
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if !text.hasPrefix("NOTIFY_SOCKET=") { inherited.append(text) }
            next += 1
        }
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = (inherited + added).map { strdup($0) } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var child: pid_t = 0
        let number = posix_spawnp(&child, path, nil, nil, &argv, &envp)
        guard number == 0 else {
            throw Failure(
                "No agent answers, and none can be started: \(path): \(SystemCall.message(number)). "
                    + "Put `defaultsd` beside `defaults`, or in the PATH.", .unavailable)
        }
        return child
    }
}
