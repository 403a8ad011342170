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

    /// Whether the peer runs as the same user as this process, or as root, which may do anything anyway.
    package var isTrusted: Bool { uid == geteuid() || uid == 0 }
}
