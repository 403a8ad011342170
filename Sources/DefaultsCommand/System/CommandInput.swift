import DefaultsCore
import Glibc
import Linux

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
