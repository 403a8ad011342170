import CLinux
import DefaultsCore
import Glibc

/// A process group for programs that this process starts, which is ended when this process ends, however that comes.
///
/// A process that leads the group watches over it: of SIGKILL nothing tells but the pipe's end, which the kernel closes. A
/// program that leaves the group isn't ended.
struct ProgramGuard: ~Copyable {
    /// The group's number, which is no other's until the guard has been waited for.
    let group: pid_t
    /// The pipe that the guard reads; nothing is ever written to it.
    private let pipe: FileDescriptor

    /// Starts a guard with an empty group.
    init() throws(Failure) {
        var number: Int32 = -1
        let pid = linux_start_guard(&number)
        // 1 and -1 would name other processes than the guard, up to all of them.
        guard pid > 1 else { throw Failure("A program can't be started: \(SystemCall.message(errno)).", .unavailable) }
        group = pid
        pipe = FileDescriptor(owning: number)
    }

    deinit {
        // Before the pipe is closed: what a program has left behind in peace goes on.
        Glibc.kill(group, SIGKILL)
        var status: Int32 = 0
        while waitpid(group, &status, 0) < 0, errno == EINTR {}
    }

    /// Sends a signal to the programs; the guard itself takes none but SIGKILL and SIGSTOP.
    borrowing func send(_ signal: Int32) { Glibc.kill(-group, signal) }
}
