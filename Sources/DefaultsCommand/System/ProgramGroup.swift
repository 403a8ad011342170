import CLinux
import DefaultsCore
import Glibc
import Linux

/// A program in its own process group, which ends or stops together with this process.
///
/// The group stops when Ctrl-Z (SIGTSTP) stops this process. SIGSTOP can't be caught and stops only this process.
struct ProgramGroup {
    /// The reason why a program ended.
    enum End {
        /// It exited by itself, with a status as a shell reports it.
        case status(Int32)
        /// It was killed because it tried to use the terminal, which a background group can't do.
        case wantedTerminal
        case timeIsOver
    }

    let program: String
    let arguments: [String]
    /// Environment variables to set, or to remove if `nil`.
    var variables: [String: String?] = [:]
    /// The bytes of its standard input.
    var input: [UInt8] = []

    /// The time between SIGTERM and SIGKILL.
    private static let grace = Duration.seconds(2)

    /// Runs the program to completion.
    ///
    /// A signal that ends this process ends the group first, and `run` doesn't return.
    ///
    /// - Parameter end: The deadline at which the group is ended; `nil` for none.
    /// - Returns: The reason why the program ended.
    /// - Throws: If the program can't be started.
    func run(until end: ContinuousClock.Instant?) throws(Failure) -> End {
        let signals = try SignalWatch(stops: true)
        let guardian = try ProgramGuard()
        var feed = try CommandInput(input)
        let process = try Failure.translating(
            ChildProcess.start(
                program, with: arguments, variables: variables, input: feed.readingNumber, group: guardian.group))
        feed.closeReader()
        var deadline = end
        var ending: Int32?
        var wantsTerminal = false
        while true {
            switch try Failure.translating(process.state) {
            case .ended(let status):
                // Background commands of a shell ignore SIGINT, so end what is left with SIGTERM.
                if ending != nil { guardian.send(SIGTERM) }
                if let ending, ending != SIGALRM { signals.end(by: ending) }
                if ending != nil { return .timeIsOver }
                return wantsTerminal ? .wantedTerminal : .status(status)
            case .stopped(SIGTTIN), .stopped(SIGTTOU):
                // Nothing would ever continue it, and a stopped process handles no signal but SIGKILL.
                wantsTerminal = true
                guardian.send(SIGKILL)
            case .stopped, .runs: break
            }
            switch signals.wait(for: feed.awaited, until: deadline) {
            case .childChanged: feed.write()
            case .stop:
                guardian.send(SIGSTOP)
                linux_stop_self()
                guardian.send(SIGCONT)
            case .signal(let number):
                // A second signal means that the user doesn't want to wait.
                guardian.send(ending == nil ? number : SIGKILL)
                ending = number
            case .timeout:
                guardian.send(ending == nil ? SIGTERM : SIGKILL)
                ending = ending ?? SIGALRM
                deadline = .now + Self.grace
            }
        }
    }
}

/// A process group for child programs that is killed when this process ends, even by SIGKILL.
///
/// A guard process leads the group and waits on a pipe. When this process is killed, the kernel closes the pipe, and
/// the guard ends the group. A program that leaves the group is not killed.
struct ProgramGuard: ~Copyable {
    /// The group's number, which can't be reused until the guard is reaped.
    let group: pid_t
    /// The pipe that the guard reads; nothing is ever written to it.
    private let pipe: FileDescriptor

    /// Starts a guard with an empty group.
    init() throws(Failure) {
        var number: Int32 = -1
        let pid = linux_start_guard(&number)
        // With 0, 1 or -1, kill() would reach processes other than the guard, up to all of them.
        guard pid > 1 else { throw Failure("Can't start a program: \(SystemCall.message(errno)).", .unavailable) }
        group = pid
        pipe = FileDescriptor(owning: number)
    }

    deinit {
        // Kill the guard before the pipe closes, so that it doesn't end processes that a program deliberately left
        // running.
        Glibc.kill(group, SIGKILL)
        var status: Int32 = 0
        while waitpid(group, &status, 0) < 0, errno == EINTR {}
    }

    /// Sends a signal to the programs; the guard itself ignores all but SIGKILL and SIGSTOP.
    borrowing func send(_ signal: Int32) { Glibc.kill(-group, signal) }
}

/// The standard input of a command: a pipe that is filled as the command reads; unread input is discarded.
struct CommandInput: ~Copyable {
    private var writer: FileDescriptor?
    private var reader: FileDescriptor?
    /// The number of the write end; -1 once it is closed.
    private var number: Int32
    /// The number of the read end, for the command's standard input.
    let readingNumber: Int32
    private var rest: ArraySlice<UInt8>

    /// Creates a pipe for the given bytes.
    init(_ bytes: [UInt8]) throws(Failure) {
        do throws(SystemCall.Failure) {
            (readingNumber, number) = try SystemCall.pipe()
        } catch {
            let reason = SystemCall.message(error.number)
            throw Failure("Can't create a pipe for the command's input: \(reason).", .inputOutput)
        }
        writer = FileDescriptor(owning: number)
        reader = FileDescriptor(owning: readingNumber)
        rest = bytes[...]
        // A command that reads nothing must not block this process.
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    /// Closes this process's read end, so that the pipe breaks instead of staying full when the command stops reading.
    mutating func closeReader() { reader = nil }

    /// The entry for `poll`; it has no descriptor once the pipe is closed.
    var awaited: pollfd { pollfd(fd: number, events: Int16(POLLOUT), revents: 0) }

    /// Writes as much as the pipe accepts, and closes it when nothing is left or the reader is gone.
    mutating func write() {
        while number >= 0, !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                break
            }
        }
        number = -1
        writer = nil
    }
}
