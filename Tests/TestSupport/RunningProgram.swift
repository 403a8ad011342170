package import Glibc
import Linux

/// A program that a test starts, and whose output the test reads, line by line or as a whole.
///
/// It leads its own process group, and inherits no files but its standard ones. It is killed at the end of this
/// object's lifetime.
package final class RunningProgram {
    private let child: ReapedChild
    private let input: Pipe
    private let output: Pipe
    private let errors: Pipe
    private var unread: [UInt8] = []

    /// Starts a program, found in the PATH unless its name contains a "/".
    ///
    /// - Parameters:
    ///   - program: The program's name or path.
    ///   - arguments: Its arguments, without its own name.
    ///   - environment: Variables to set, in addition to the test's own.
    ///   - takesInput: Whether `send` can write to its standard input, which is empty otherwise.
    ///   - showsErrors: Whether its standard error is the test's own, instead of a pipe that the test reads.
    /// - Throws: If it can't be started.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], takesInput: Bool = false,
        showsErrors: Bool = false
    ) throws {
        (input, output, errors) = (try Pipe(), try Pipe(), try Pipe())
        // The commands that tests run name no caller, except in the tests about it.
        let variables = ["DEFAULTS_ORIGIN": ""].merging(environment) { $1 }
        child = ReapedChild(
            try ChildProcess.start(
                program, with: [program] + arguments, variables: variables, input: input.reader?.number,
                output: output.writer?.number, errors: showsErrors ? nil : errors.writer?.number, group: 0,
                inheritsFiles: false))
        input.reader = nil
        output.writer = nil
        errors.writer = nil
        if !takesInput { input.writer = nil }
    }

    deinit { kill() }

    package var pid: pid_t { child.pid }
    package var isRunning: Bool { child.status == nil }

    /// Returns an amount of memory in the program's status: "VmRSS" is resident now, "VmHWM" is the peak of that.
    package func kilobytes(_ name: String) throws -> Int {
        let status = String(decoding: try RawFile.read("/proc/\(pid)/status"), as: UTF8.self)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("\(name):") }),
            let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw TestSystemError("Finding \(name) of \(pid)") }
        return kilobytes
    }

    /// Sends a signal.
    ///
    /// After SIGSTOP, returns only when the program has stopped or ended. It may keep running for a moment on another
    /// processor.
    package func signal(_ number: Int32) {
        guard child.send(number), number == SIGSTOP else { return }
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WSTOPPED | WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Ends the program as a crash does.
    package func kill() {
        _ = child.send(SIGKILL)
        waitUntilExit()
    }

    /// Waits for the program to exit, and returns the status as a shell reports it.
    @discardableResult
    package func waitUntilExit() -> Int32 { child.waitUntilExit() }

    /// Waits for the program to exit.
    ///
    /// Returns the status as a shell reports it, or `nil` after a timeout.
    package func status(within seconds: Double = 30) -> Int32? {
        _ = eventually(within: seconds) { !isRunning }
        return child.status
    }

    // MARK: Input and output

    /// Writes a line to the program's standard input.
    package func send(_ line: String) throws {
        var rest = Array("\(line)\n".utf8)[...]
        while !rest.isEmpty { rest = rest.dropFirst(try write(rest)) }
    }

    /// Writes as much as the pipe accepts; a broken pipe fails without SIGPIPE, which would end the test.
    private func write(_ bytes: ArraySlice<UInt8>) throws(SystemCall.Failure) -> Int {
        let number = input.writer?.number ?? -1
        var (broken, former) = (sigset_t(), sigset_t())
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &broken, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        do throws(SystemCall.Failure) {
            return try SystemCall.run { bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) } }
        } catch {
            var now = timespec()
            if error.number == EPIPE { sigtimedwait(&broken, nil, &now) }
            throw error
        }
    }

    /// Waits for the next line of output.
    ///
    /// Returns `nil` at the end of the output or after a timeout.
    package func line(within seconds: Double = 30) -> String? {
        let deadline = ContinuousClock.now + .seconds(seconds)
        let number = output.reader?.number ?? -1
        while true {
            if let end = unread.firstIndex(of: 0x0A) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let left = max(0, (deadline - .now) / .milliseconds(1))
            var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Int32(left.rounded(.up))) == 1, receive(from: number, into: &unread) else {
                return nil
            }
        }
    }

    /// Closes the reading end of the output, as `head` does when it has seen enough.
    package func closeOutput() { output.reader = nil }

    /// Writes text to standard input and closes it, reads the rest of the output, and waits for the program to exit.
    package func finish(_ text: String = "") throws -> Programs.Outcome {
        var rest = Array(text.utf8)[...]
        var complaints: [UInt8] = []
        var polls = [
            pollfd(fd: input.writer?.number ?? -1, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.reader?.number ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.reader?.number ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = fcntl(polls[0].fd, F_SETFL, O_NONBLOCK)
        // All at the same time, so that neither side waits for the other with a full pipe.
        while polls.contains(where: { $0.fd >= 0 }) {
            guard poll(&polls, 3, -1) > 0 else { continue }
            if polls[0].revents != 0 {
                // A program need not read its input.
                do throws(SystemCall.Failure) { rest = rest.dropFirst(try write(rest)) } catch { rest = [] }
                if rest.isEmpty {
                    input.writer = nil
                    polls[0].fd = -1
                }
            }
            if polls[1].revents != 0, !receive(from: polls[1].fd, into: &unread) { polls[1].fd = -1 }
            if polls[2].revents != 0, !receive(from: polls[2].fd, into: &complaints) { polls[2].fd = -1 }
        }
        defer { unread = [] }
        return Programs.Outcome(
            status: waitUntilExit(), output: String(decoding: unread, as: UTF8.self),
            errors: String(decoding: complaints, as: UTF8.self))
    }

    /// Ends the program and returns its standard error.
    package func complaints() -> String {
        kill()
        var bytes: [UInt8] = []
        while receive(from: errors.reader?.number ?? -1, into: &bytes) {}
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends what can be read; returns `false` at the end.
    private func receive(from number: Int32, into bytes: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = (try? SystemCall.run { read(number, &buffer, buffer.count) }) ?? 0
        bytes += buffer[..<count]
        return count > 0
    }
}

/// A pipe between the test and a program.
private final class Pipe {
    var reader: FileDescriptor?
    var writer: FileDescriptor?

    init() throws {
        let ends = try SystemCall.pipe()
        reader = FileDescriptor(owning: ends.reader)
        writer = FileDescriptor(owning: ends.writer)
    }
}

/// A child process that a thread reaps as soon as it ends.
///
/// Swift Testing waits for all exit tests with one `waitid(P_ALL, …, WEXITED | WNOWAIT)`, which returns the same ended
/// child again and again until that is reaped.
private final class ReapedChild: Sendable {
    private let process: ChildProcess
    /// The exit status as a shell reports it; `nil` until the child is reaped.
    ///
    /// The lock ensures that the child is reaped once, and that no signal reaches a later process with the same number.
    private let reaped = ForkSafeMutex<Int32?>(nil)

    init(_ process: ChildProcess) {
        self.process = process
        _ = DetachedThread.start { [self] in _ = waitUntilExit() }
    }

    var pid: pid_t { process.pid }

    /// The exit status; `nil` while the child runs.
    var status: Int32? {
        reaped.withLock { status in
            // An error means that something else has reaped the child.
            if status == nil { do { status = try process.status } catch { status = -1 } }
            return status
        }
    }

    /// Waits for the child to exit, without the lock.
    func waitUntilExit() -> Int32 {
        var information = siginfo_t()
        while true {
            if let status { return status }
            waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT)
        }
    }

    /// Sends a signal; returns `false` if the child has ended.
    func send(_ signal: Int32) -> Bool {
        reaped.withLock { $0 == nil && kill(process.pid, signal) == 0 }
    }
}
