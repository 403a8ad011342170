import CLinux
import Glibc

/// Wrappers for system calls, which retry interrupted calls and read `errno` immediately.
package enum SystemCall {
    /// A failed call's error number.
    package struct Failure: Error, Hashable {
        package let number: Int32

        package init(number: Int32) {
            self.number = number
        }
    }

    /// Makes a call that returns -1 on failure, and repeats it if a signal interrupts it.
    @discardableResult
    package static func run<Number: SignedInteger>(_ call: () -> Number) throws(Failure) -> Number {
        while true {
            let result = call()
            if result != -1 { return result }
            let number = errno
            if number != EINTR { throw Failure(number: number) }
        }
    }

    /// Creates a pipe, with close-on-exec; the caller owns both descriptors.
    package static func pipe() throws(Failure) -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [0, 0]
        try run { linux_pipe(&ends) }
        return (ends[0], ends[1])
    }

    /// Returns the target of a symbolic link; `nil` if the path isn't a link or can't be read.
    package static func target(ofLink path: UnsafePointer<CChar>) -> [UInt8]? {
        let target = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { bytes in
                bytes.baseAddress.map { max(0, readlink(path, $0, bytes.count)) } ?? 0
            }
        }
        return target.isEmpty ? nil : target
    }

    /// Returns the system's message for an error number.
    package static func message(_ number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 160)
        guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension pollfd {
    /// Whether `poll` has found that a pipe or a socket has no reader anymore, or that the descriptor isn't open.
    package var isClosed: Bool { revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 }
}
