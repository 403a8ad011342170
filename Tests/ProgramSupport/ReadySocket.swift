import DefaultsCore
import Glibc
import Linux
import Synchronization
import TestSupport

/// The receiving end of `sd_notify`, as in a service manager.
package final class ReadySocket {
    private static let counter = Atomic(0)

    /// The value for `NOTIFY_SOCKET`.
    package let name: String
    private let socket: FileDescriptor
    private var received: [String] = []

    package init() throws {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        name = "@defaultsd-tests/\(getpid())/\(number)"
        socket = FileDescriptor(
            owning: Glibc.socket(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
        let descriptor = socket.number
        let bound = UnixAddress(notifySocket: name)?.with { bind(descriptor, $0, $1) }
        guard bound == 0 else { throw TestSystemError("bind \(name)") }
    }

    /// Fills the queue, as when the service manager is busy.
    package func fillQueue() {
        let number = socket.number
        let message = Array("STATUS=busy".utf8)
        while UnixAddress(notifySocket: name)?.with({
            sendto(number, message, message.count, Int32(MSG_DONTWAIT), $0, $1)
        }) ?? -1 > 0 {}
    }

    /// Receives the next message, if there is one, and returns the states so far, such as "READY=1".
    package func states() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket.number, &buffer, buffer.count, 0)
        if count > 0 {
            let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
            received += lines.filter { !$0.hasPrefix("STATUS=") }.map(String.init)
        }
        return received
    }

    /// Returns whether `READY=1` has arrived, or has arrived a number of times.
    package func hasCome(times: Int = 1) -> Bool { states().count { $0 == "READY=1" } >= times }
}
