import DefaultsCore
import Glibc

/// What a command has on its standard input, written as it is read; what it doesn't read is dropped.
struct CommandInput: ~Copyable {
    private var writer: FileDescriptor?
    private var reader: FileDescriptor?
    /// The number of the writing end; -1 once it is closed.
    private var number: Int32
    /// The number of the end that is to be the command's standard input.
    let readingNumber: Int32
    private var rest: ArraySlice<UInt8>

    /// Makes a pipe for some bytes.
    init(_ bytes: [UInt8]) throws(Failure) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw Failure("The command can't be given its input: \(SystemCall.message(errno)).", .inputOutput)
        }
        (readingNumber, number) = (ends[0], ends[1])
        writer = FileDescriptor(owning: number)
        reader = FileDescriptor(owning: readingNumber)
        rest = bytes[...]
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A command that reads nothing makes nobody wait.
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    /// Leaves reading to the command: else the pipe stayed open, and full, when nobody reads it any more.
    mutating func closeReader() { reader = nil }

    /// What to wait for with `poll`; nothing once the pipe is closed.
    var awaited: pollfd { pollfd(fd: number, events: Int16(POLLOUT), revents: 0) }

    /// Writes what the pipe takes, and closes it when nothing is left or nobody reads.
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
