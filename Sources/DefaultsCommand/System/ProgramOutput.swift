import Glibc
import Linux

/// The outcome and the output of a program that is run with a time limit.
enum ProgramOutput {
    /// The program ended by itself, with this status, as a shell reports it, and this output.
    case ended(Int32, String)
    /// The program and all other processes of its group were killed.
    case timeout

    /// The maximum number of bytes that are kept.
    private static let maximum = 1 << 16

    /// Runs a program without input, and discards its standard error.
    ///
    /// - Throws: A `Failure` if the program can't be started.
    static func of(
        _ program: String, _ arguments: [String], within time: Duration
    ) throws(Failure) -> ProgramOutput {
        guard let ends = try? SystemCall.pipe() else {
            throw Failure("Can't create a pipe for the output of \(program).", .inputOutput)
        }
        let reader = FileDescriptor(owning: ends.reader)
        var writer: FileDescriptor? = FileDescriptor(owning: ends.writer)
        guard let nothing = try? FileDescriptor(opening: "/dev/null", O_RDWR) else {
            throw Failure("/dev/null can't be opened.", .inputOutput)
        }
        let child = try Failure.translating(
            ChildProcess.start(
                program, with: arguments, input: nothing.number, output: ends.writer, errors: nothing.number, group: 0))
        writer = nil
        _ = consume writer
        let deadline = ContinuousClock.now + time
        let bytes = read(reader, until: deadline)
        // It may have closed its output without ending.
        while ContinuousClock.now < deadline {
            if let status = try Failure.translating(child.status) {
                return .ended(status, String(decoding: bytes, as: UTF8.self))
            }
            Backoff.pause(.milliseconds(1))
        }
        kill(-child.pid, SIGKILL)
        // A process that doesn't end at once, because it is waiting for a disk, is left to the system.
        for _ in 0..<50 {
            if try Failure.translating(child.status) != nil { break }
            Backoff.pause(.milliseconds(1))
        }
        return .timeout
    }

    /// Reads until the end of the output or a deadline.
    private static func read(_ reader: borrowing FileDescriptor, until deadline: ContinuousClock.Instant) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let left = ((deadline - .now) / .milliseconds(1)).rounded(.up)
            var waiting = pollfd(fd: reader.number, events: Int16(POLLIN), revents: 0)
            guard left > 0 else { return bytes }
            let ready = poll(&waiting, 1, Int32(clamping: Int64(left)))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { return bytes }
            let count = Glibc.read(reader.number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return bytes }
            if bytes.count < maximum { bytes += buffer[..<count] }
        }
    }
}
