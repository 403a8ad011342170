import CLinux
import DefaultsCore
import Glibc

/// The process that started the agent for its own duration: `defaults tail`.
enum Parent {
    /// The signal that says that it has ended.
    static let signal = SIGUSR1

    /// Has the agent be told when a process ends that must be its parent.
    static func follow(_ parent: pid_t) throws(DefaultsError) {
        linux_signal_at_end_of_parent(signal)
        // It may have ended before the line above.
        guard getppid() == parent else {
            throw DefaultsError(.agentRefused, "Process \(parent), which started this agent, has already exited.")
        }
        // The agent may outlive the parent: whoever reads what that has written, or waits for it, must see its end.
        discard([STDIN_FILENO, STDOUT_FILENO])
    }

    /// Lets the last of what was inherited go, now that the parent has ended: standard error, to which it still reported.
    static func leave() { discard([STDERR_FILENO]) }

    private static func discard(_ numbers: [Int32]) {
        guard let nothing = try? FileDescriptor(opening: "/dev/null", O_RDWR) else { return }
        for number in numbers where number != nothing.number { dup2(nothing.number, number) }
    }
}
