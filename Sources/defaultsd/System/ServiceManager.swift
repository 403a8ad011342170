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

    /// Sends the manager a message.
    ///
    /// It isn't an error if the manager is missing or unresponsive.
    func notify(_ message: String) {
        guard let address else { return }
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let bytes = Array(message.utf8)
        let number = socket.number
        _ = address.with { sendto(number, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, $1) }
    }
}
