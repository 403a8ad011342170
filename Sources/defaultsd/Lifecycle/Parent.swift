import CLinux
import DefaultsCore
import Glibc

/// The process that started the agent for its own duration: `defaults tail`.
enum Parent {
    /// Has the agent end, as by SIGTERM, when a process ends that must be its parent.
    static func endWith(_ parent: pid_t) throws(DefaultsError) {
        linux_end_with_parent()
        // It may have ended before the line above.
        guard getppid() == parent else {
            throw DefaultsError(.agentRefused, "The process \(parent), with which the agent should end, has ended.")
        }
    }
}
