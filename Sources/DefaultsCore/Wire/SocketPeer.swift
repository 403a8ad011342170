import CLinux
import Glibc

/// Who is at the other end of a Unix socket, by the kernel's word (`SO_PEERCRED`): who connected, or who listens.
package struct SocketPeer: Hashable, Sendable {
    package let pid: Int32
    package let uid: UInt32

    /// Asks about a connected socket; `nil` when the kernel doesn't tell.
    package init?(of socket: borrowing FileDescriptor) {
        var peer = linux_peer()
        guard linux_peer_of(socket.number, &peer) == 0 else { return nil }
        pid = peer.pid
        uid = peer.uid
    }

    /// Whether it is this process's user, or root, who may do anything anyway.
    package var isTrusted: Bool { uid == geteuid() || uid == 0 }
}
