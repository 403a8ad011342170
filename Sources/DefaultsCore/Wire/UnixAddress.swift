package import Glibc

/// The address of a Unix socket: a path, or a name that is in no file system (`man 7 unix`).
package struct UnixAddress: Sendable {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// The address of a file; `nil` when the path is too long.
    package init?(path: String) {
        // With a NUL after it.
        self.init(Array(path.utf8) + [0])
    }

    /// An abstract name, which vanishes with its last socket; `nil` when it is too long.
    package init?(abstractName name: String) {
        // A NUL, then the name, with no NUL after it.
        self.init([0] + Array(name.utf8))
    }

    /// What `NOTIFY_SOCKET` names: an abstract name when it begins with "@", else a path (`man 3 sd_notify`).
    package init?(notifySocket name: String) {
        if name.hasPrefix("@") { self.init(abstractName: String(name.dropFirst())) } else { self.init(path: name) }
    }

    private init?(_ bytes: [UInt8]) {
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        address.sun_family = sa_family_t(AF_UNIX)
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    /// Calls `bind`, `connect` or the like with the address.
    package func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
