import DefaultsCore
import Glibc

/// Who started the agent and wants to know how it does: systemd, or anyone who sets `NOTIFY_SOCKET`.
///
/// The protocol is `man 3 sd_notify`: a datagram of `KEY=value` lines.
struct ServiceManager {
    private let address: String?

    init(_ environment: Environment) {
        address = environment["NOTIFY_SOCKET"]
    }

    /// Tells the manager something.
    ///
    /// Nobody there, or nobody listening, is no error.
    func notify(_ message: String) {
        guard let address else { return }
        // "@" stands for the NUL that begins an abstract name.
        let name = address.hasPrefix("@") ? [0] + Array(address.utf8.dropFirst()) : Array(address.utf8)
        var place = sockaddr_un()
        guard name.count < MemoryLayout.size(ofValue: place.sun_path) else { return }
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let bytes = Array(message.utf8)
        _ = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
