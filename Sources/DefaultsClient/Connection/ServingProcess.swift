import DefaultsCore
import Glibc
import Linux

/// The process that serves a connection: the agent or, until the agent has answered, the service manager that starts
/// it.
struct ServingProcess {
    /// The process ID in this namespace, from the kernel; 0 if the process is in another one.
    private(set) var pid: Int64
    /// Whether this is a service manager, which must not be killed.
    private(set) var startsAgent: Bool

    init(_ peer: SocketPeer) {
        pid = Int64(peer.pid)
        startsAgent = peer.isServiceManager
    }

    /// Records that the agent has answered the greeting, and corrects its process ID in the answer to this namespace.
    ///
    /// If a service manager was listening, the agent's own word is all there is.
    mutating func identify(_ welcome: inout Welcome) {
        if startsAgent { pid = welcome.pid } else if pid > 0 { welcome.pid = pid }
        startsAgent = false
    }

    /// Whether the process may run, rather than being stopped, dead or unknown.
    var isRunning: Bool { if case .runs = ProcessStatus(ofProcess: pid) { true } else { false } }

    /// Returns the error for an agent that has been silent for some time.
    func silence(of milliseconds: Int64) -> DefaultsError {
        // Show tenths unless they are zero.
        let (seconds, tenth) = (milliseconds / 1_000, milliseconds % 1_000 / 100)
        let time = tenth == 0 ? "\(seconds)" : "\(seconds).\(tenth)"
        if startsAgent {
            return DefaultsError(
                .agentUnavailable,
                "The service manager has not started the agent within \(time) s.",
                remedy: "To see why, run `systemctl --user status defaultsd`.",
                errno: ETIMEDOUT)
        }
        let (state, remedy): (String, String?) =
            switch ProcessStatus(ofProcess: pid) {
            case .runs: ("It is busy or hung.", "To continue without it, run `kill -KILL \(pid)`.")
            case .stopped:
                (
                    "It is stopped.",
                    "To resume it, run `kill -CONT \(pid)`; to continue without it, run `kill -KILL \(pid)`."
                )
            case .unknown: ("It may be stopped or busy.", nil)
            }
        let name = pid > 0 ? "pid \(pid)" : "in another namespace"
        return DefaultsError(
            .agentUnavailable, "The agent (\(name)) has not responded for \(time) s. \(state)", remedy: remedy,
            errno: ETIMEDOUT)
    }
}

/// The state of a silent agent's process according to the kernel; see proc_pid_stat(5).
enum ProcessStatus {
    case runs
    case stopped
    /// The process has ended, or is in another namespace.
    case unknown

    init(ofProcess pid: Int64) {
        let stat = try? FileDescriptor(opening: "/proc/\(pid)/stat", O_RDONLY).read(upTo: 1_024)
        // The state follows the process's name, which may contain anything, including closing parentheses.
        guard pid > 0, let stat, let name = stat.lastIndex(of: UInt8(ascii: ")")), name + 2 < stat.count else {
            self = .unknown
            return
        }
        switch stat[name + 2] {
        case UInt8(ascii: "T"), UInt8(ascii: "t"): self = .stopped
        case UInt8(ascii: "Z"), UInt8(ascii: "X"): self = .unknown
        default: self = .runs
        }
    }
}
