import CLinux
import Glibc

/// The process at the other end of a Unix socket, as the kernel reports it (`SO_PEERCRED`).
///
/// To a server, this is the process that connected; to a client, the process that listens.
package struct SocketPeer: Hashable, Sendable {
    package let pid: Int32
    package let uid: UInt32

    /// Looks up the peer of a connected socket; fails if the kernel doesn't report it.
    package init?(of socket: borrowing FileDescriptor) {
        var peer = linux_peer()
        guard linux_peer_of(socket.number, &peer) == 0 else { return nil }
        pid = peer.pid
        uid = peer.uid
    }

    /// Whether the peer is a service manager, which starts the program that serves the socket when a client connects.
    ///
    /// When a program that inherits the socket calls `listen`, it becomes the peer of all clients that connect later,
    /// and remains it even after it has ended. So if the peer no longer exists, a service manager is listening.
    package var isServiceManager: Bool {
        // A peer in another PID namespace, which can't be examined, has the ID 0.
        guard pid > 0 else { return false }
        do throws(SystemCall.Failure) {
            let name = try FileDescriptor(opening: "/proc/\(pid)/comm", O_RDONLY).read(upTo: 64)
            return Self.serviceManagers.contains { name.starts(with: $0.utf8) }
        } catch {
            return error.number == ENOENT || error.number == ESRCH
        }
    }

    /// The prefixes of service managers' names; that of systemd includes `systemd-socket-activate`.
    private static let serviceManagers = ["systemd", "dinit"]

    /// Whether the peer runs as the same user as this process, or as root, which may do anything anyway.
    package var isTrusted: Bool { uid == geteuid() || uid == 0 }
}
