import Glibc
import Linux
import Testing

@Suite("TCPSocket")
struct TCPSocketTests {
    @Test("A connected socket has its process's user")
    func ownSocket() throws {
        let connection = try Connection()
        let found = try connection.lookUp()
        #expect(found.uid == getuid())
        #expect(found.isConnected)
    }

    @Test("A socket with an IPv4 connection has its process's user also if it is one for IPv6")
    func socketForIPv6() throws {
        let found = try Connection(isForIPv6: true).lookUp()
        #expect(found.uid == getuid())
        #expect(found.isConnected)
    }

    @Test("A socket that was closed is not connected, whichever user the kernel then reports")
    func closedSocket() throws {
        let connection = try Connection()
        connection.closeClient()
        // The kernel may have no stand-in, too.
        #expect((try? connection.lookUp())?.isConnected != true)
    }

    @Test("A socket whose peer was closed is not connected")
    func socketOfClosedPeer() throws {
        let connection = try Connection()
        connection.closeServer()
        #expect(try !connection.lookUp().isConnected)
    }

    @Test("Another user's socket has that user", .enabled(if: getuid() == 0))
    func socketOfAnotherUser() throws {
        let connection = try Connection()
        // A socket belongs to the user who owns its inode.
        try SystemCall.run { fchown(connection.client, 65_534, 65_534) }
        let found = try connection.lookUp()
        #expect(found.uid == 65_534)
        #expect(found.isConnected)
    }

    @Test("A listening socket is found, but not connected")
    func listeningSocket() throws {
        let listener = try Listener()
        let found = try TCPSocket(at: listener.address, connectedTo: nil)
        #expect(found.uid == getuid())
        #expect(!found.isConnected)
    }

    @Test("A missing socket is an error, not a user")
    func missingSocket() throws {
        let connection = try Connection()
        #expect(throws: SystemCall.Failure(number: ENOENT)) {
            _ = try TCPSocket(at: connection.clientAddress, connectedTo: nil)
        }
    }
}

/// A socket that listens on a port of the loopback interface.
private final class Listener {
    let socket: Int32
    let address: sockaddr_in

    init() throws {
        let socket = try SystemCall.run { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        self.socket = socket
        var any = sockaddr_in()
        any.sin_family = sa_family_t(AF_INET)
        any.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafePointer(to: &any) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try SystemCall.run { bind(socket, address, length) }
            }
        }
        try SystemCall.run { listen(socket, 1) }
        address = try Self.address(of: socket, as: sockaddr_in())
    }

    deinit { close(socket) }

    /// Returns the address to which a socket is bound.
    static func address<Address>(of socket: Int32, as empty: Address) throws -> Address {
        var (address, length) = (empty, socklen_t(MemoryLayout<Address>.size))
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try SystemCall.run { getsockname(socket, address, &length) }
            }
        }
        return address
    }
}

/// Both ends of a connection on the loopback interface.
private final class Connection {
    private(set) var client: Int32
    private var server: Int32
    let clientAddress: sockaddr_in
    private let listener: Listener

    init(isForIPv6: Bool = false) throws {
        let listener = try Listener()
        let family = isForIPv6 ? AF_INET6 : AF_INET
        let client = try SystemCall.run { socket(family, Int32(SOCK_STREAM.rawValue), 0) }
        (self.listener, self.client) = (listener, client)
        if isForIPv6 {
            var mapped = sockaddr_in6()
            mapped.sin6_family = sa_family_t(AF_INET6)
            mapped.sin6_port = listener.address.sin_port
            // ::ffff:127.0.0.1
            let address = [UInt8](repeating: 0, count: 10) + [255, 255, 127, 0, 0, 1]
            withUnsafeMutableBytes(of: &mapped.sin6_addr) { $0.copyBytes(from: address) }
            try Self.connect(client, to: mapped)
            var own = listener.address
            own.sin_port = try Listener.address(of: client, as: sockaddr_in6()).sin6_port
            clientAddress = own
        } else {
            try Self.connect(client, to: listener.address)
            clientAddress = try Listener.address(of: client, as: sockaddr_in())
        }
        server = try SystemCall.run { accept(listener.socket, nil, nil) }
    }

    deinit {
        closeClient()
        closeServer()
    }

    func closeClient() {
        if client >= 0 { close(client) }
        client = -1
    }

    func closeServer() {
        if server >= 0 { close(server) }
        server = -1
    }

    func lookUp() throws -> TCPSocket { try TCPSocket(at: clientAddress, connectedTo: listener.address) }

    private static func connect<Address>(_ socket: Int32, to address: Address) throws {
        try withUnsafePointer(to: address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bytes in
                _ = try SystemCall.run { Glibc.connect(socket, bytes, socklen_t(MemoryLayout<Address>.size)) }
            }
        }
    }
}
