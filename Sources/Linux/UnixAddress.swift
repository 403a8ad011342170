package import Glibc

/// The address of a Unix socket: a path, or an abstract name independent of the file system (`man 7 unix`).
package struct UnixAddress: Sendable {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// Creates the address of a socket file; fails if the path is too long.
    package init?(path: String) {
        // The path is followed by a NUL.
        self.init(Array(path.utf8) + [0])
    }

    /// Creates an abstract address, which disappears with its last socket; fails if the name is too long.
    package init?(abstractName name: String) {
        // The name is preceded by a NUL, and not followed by one.
        self.init([0] + Array(name.utf8))
    }

    /// Creates an address from the value of `NOTIFY_SOCKET`: an abstract name after "@", or else a path (`man 3
    /// sd_notify`).
    package init?(notifySocket name: String) {
        if name.hasPrefix("@") { self.init(abstractName: String(name.dropFirst())) } else { self.init(path: name) }
    }

    /// Returns the address that a socket is bound to; fails if it isn't a Unix socket.
    package init?(of socket: Int32) {
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        self.length = length
    }

    /// The path of the socket's file; `nil` if the address is abstract or unnamed.
    package var path: String? {
        let bytes = withUnsafeBytes(of: address.sun_path) { path in
            Array(path.prefix(max(0, Int(length) - MemoryLayout<sa_family_t>.size)).prefix { $0 != 0 })
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private init?(_ bytes: [UInt8]) {
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    /// Calls a closure with the address, for `bind`, `connect` and the like.
    package func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
