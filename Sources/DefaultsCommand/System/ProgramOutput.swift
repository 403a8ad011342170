import Glibc
import Linux

/// The outcome and the output of a program that is run with a time limit.
package enum ProgramOutput {
    /// The program ended by itself, with this status, as a shell reports it, and this output.
    case ended(Int32, String)
    /// The program and all other processes of its group were killed.
    case timeout

    /// Runs a program without input, and discards its standard error.
    ///
    /// - Throws: A `Failure` if the program can't be started.
    static func of(
        _ program: String, _ arguments: [String], within time: Duration
    ) throws(Failure) -> ProgramOutput {
        let run = try run(program, arguments, within: time, limit: 1 << 16, keepsErrors: false)
        return run.status.map { .ended($0, String(decoding: run.output, as: UTF8.self)) } ?? .timeout
    }

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - program: The program's name or path.
    ///   - arguments: Its arguments, starting with its own name.
    ///   - time: The time after which it is killed, with all other processes of its group.
    ///   - limit: The number of bytes that are kept of its standard output and of its standard error.
    ///   - keepsErrors: Whether to keep its standard error, instead of discarding it.
    ///   - input: The bytes of its standard input.
    ///   - variables: Environment variables to set, or to remove if `nil`.
    /// - Returns: The status, as a shell reports it, or `nil` if it was killed; and what it wrote.
    /// - Throws: A `Failure` if the program can't be started.
    package static func run(
        _ program: String, _ arguments: [String], within time: Duration, limit: Int, keepsErrors: Bool = true,
        input: [UInt8] = [], variables: [String: String?] = [:]
    ) throws(Failure) -> (status: Int32?, output: [UInt8], errors: [UInt8]) {
        guard let outputEnds = try? SystemCall.pipe() else { throw noPipe(program) }
        let output = FileDescriptor(owning: outputEnds.reader)
        var outputWriter: FileDescriptor? = FileDescriptor(owning: outputEnds.writer)
        guard let errorEnds = try? SystemCall.pipe() else { throw noPipe(program) }
        let errors = FileDescriptor(owning: errorEnds.reader)
        var errorWriter: FileDescriptor? = FileDescriptor(owning: errorEnds.writer)
        guard let nothing = try? FileDescriptor(opening: "/dev/null", O_RDWR) else {
            throw Failure("/dev/null can't be opened.", .inputOutput)
        }
        var feed = try CommandInput(input)
        let child = try Failure.translating(
            ChildProcess.start(
                program, with: arguments, variables: variables, input: feed.readingNumber, output: outputEnds.writer,
                errors: keepsErrors ? errorEnds.writer : nothing.number, group: 0, inheritsFiles: false))
        feed.closeReader()
        outputWriter = nil
        _ = consume outputWriter
        errorWriter = nil
        _ = consume errorWriter
        let deadline = ContinuousClock.now + time
        let written = read([output.number, errors.number], until: deadline, limit, feeding: &feed)
        // It may have closed its output without ending.
        while ContinuousClock.now < deadline {
            if let status = try Failure.translating(child.status) { return (status, written[0], written[1]) }
            Backoff.pause(.milliseconds(1))
        }
        kill(-child.pid, SIGKILL)
        // A process that doesn't end at once, because it is waiting for a disk, is left to the system.
        for _ in 0..<50 {
            if try Failure.translating(child.status) != nil { break }
            Backoff.pause(.milliseconds(1))
        }
        return (nil, written[0], written[1])
    }

    /// Returns the first line of a program's messages; `nil` if there is none.
    static func firstLine(_ messages: [UInt8]) -> String? {
        messages.split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func noPipe(_ program: String) -> Failure {
        Failure("Can't create a pipe for the output of \(program).", .inputOutput)
    }

    /// Reads from descriptors until the end of them all or a deadline, and meanwhile writes the input.
    private static func read(
        _ readers: [Int32], until deadline: ContinuousClock.Instant, _ limit: Int, feeding feed: inout CommandInput
    ) -> [[UInt8]] {
        var bytes = [[UInt8]](repeating: [], count: readers.count)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var waiting = readers.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while waiting.contains(where: { $0.fd >= 0 }) {
            let left = ((deadline - .now) / .milliseconds(1)).rounded(.up)
            guard left > 0 else { break }
            var awaited = waiting + [feed.awaited]
            let ready = poll(&awaited, nfds_t(awaited.count), Int32(clamping: Int64(left)))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { break }
            if awaited[waiting.count].revents != 0 { feed.write() }
            for index in waiting.indices where waiting[index].fd >= 0 && awaited[index].revents != 0 {
                let count = Glibc.read(waiting[index].fd, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // `poll` ignores a descriptor of -1.
                if count <= 0 { waiting[index].fd = -1 }
                if count > 0, bytes[index].count < limit { bytes[index] += buffer[..<count] }
            }
        }
        return bytes
    }
}
