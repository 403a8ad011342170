import DefaultsCore
import Glibc
import Linux

/// The service manager to notify of the agent's state: systemd, or any other that sets `NOTIFY_SOCKET`.
///
/// The protocol is `man 3 sd_notify`: a datagram of `KEY=value` lines.
struct ServiceManager {
    private let address: UnixAddress?

    init(_ environment: Environment) {
        address = environment["NOTIFY_SOCKET"].flatMap(UnixAddress.init(notifySocket:))
    }

    /// Sends the manager a message, again and again while its queue is full, until the task is canceled.
    ///
    /// It isn't an error if the manager is missing.
    func notify(_ message: String) async {
        while !send(message) {
            do { try await Task.sleep(for: Self.interval) } catch { return }
        }
    }

    /// Sends the manager a message.
    ///
    /// - Returns: False if the manager's queue is full, which must not block the event loop.
    @discardableResult
    func send(_ message: String) -> Bool {
        guard let address else { return true }
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let bytes = Array(message.utf8)
        let number = socket.number
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let sent = address.with { sendto(number, bytes, bytes.count, flags, $0, $1) }
        return sent >= 0 || errno != EAGAIN
    }

    private static let interval = Duration.milliseconds(100)
}
