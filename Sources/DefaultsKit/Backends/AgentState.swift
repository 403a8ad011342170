import DefaultsCore
import Glibc

/// Whether an agent that doesn't answer could: what the kernel says of its process, see proc_pid_stat(5).
enum AgentState {
    case runs
    case stopped
    /// It has ended, or is in another namespace.
    case unknown

    init(ofProcess pid: Int64) {
        let stat = try? FileDescriptor(opening: "/proc/\(pid)/stat", O_RDONLY).read(upTo: 1_024)
        // The state is behind the process's name, in which there may be anything.
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
