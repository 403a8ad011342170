import CLinux
package import Glibc

/// A TCP socket for IPv4 of this machine, as the kernel reports it (`NETLINK_SOCK_DIAG`).
package struct TCPSocket {
    /// The user whose process created the socket.
    ///
    /// This is 0 for the stand-in that the kernel keeps for a while after a socket was closed.
    package let uid: UInt32
    /// Whether a process has the socket open, and it is connected.
    package let isConnected: Bool

    /// Looks up the socket with an address that is connected to another, or that listens if there is no such socket.
    ///
    /// Fails with `ENOENT` if there is none, or if the kernel lacks `tcp_diag`, and so can't look up sockets.
    package init(at own: sockaddr_in, connectedTo peer: sockaddr_in?) throws(SystemCall.Failure) {
        let peer = peer ?? sockaddr_in()
        var found = linux_tcp_socket()
        try SystemCall.run {
            linux_tcp_socket_of(own.sin_addr.s_addr, own.sin_port, peer.sin_addr.s_addr, peer.sin_port, &found)
        }
        uid = found.uid
        // A closed socket has no inode; the state 1 is TCP_ESTABLISHED.
        isConnected = found.state == 1 && found.inode != 0
    }
}
