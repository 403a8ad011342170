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
        _ directory: PreferencesDirectory, _ address: AgentAddress, notifying notifications: borrowing NotifySocket
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

/// The receiving end of `sd_notify`: a datagram socket with an abstract name.
struct NotifySocket: ~Copyable {
    /// The value for `NOTIFY_SOCKET`.
    let name: String
    private let socket: FileDescriptor

    init() throws(Failure) {
        // The pid alone isn't unique: a process in another PID namespace may have the same one.
        name = "@defaults-tail/\(getpid())-\(UInt64.random(in: 0...(.max)))"
        do throws(SystemCall.Failure) { socket = try Self.bind(name) } catch {
            throw Failure("Can't wait for an agent: \(SystemCall.message(error.number)).", .unavailable)
        }
    }

    private static func bind(_ name: String) throws(SystemCall.Failure) -> FileDescriptor {
        guard let address = UnixAddress(notifySocket: name) else { throw SystemCall.Failure(number: ENAMETOOLONG) }
        let socket = try UnixSocket.open(SOCK_DGRAM)
        let number = socket.number
        try SystemCall.run { address.with { Glibc.bind(number, $0, $1) } }
        return socket
    }

    /// Waits for `READY=1`, and returns whether it arrived in time.
    func isReady(within milliseconds: Int32) throws(Failure) -> Bool {
        var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) == 1 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket.number, &buffer, buffer.count, 0)
        return count > 0 && String(decoding: buffer[..<count], as: UTF8.self).contains("READY=1")
    }
}
