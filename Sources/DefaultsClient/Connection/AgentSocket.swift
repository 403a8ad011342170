import DefaultsCore
import Glibc
import Linux

/// The socket to an agent, which sends requests and receives messages without ever waiting.
///
/// It must be used by only one thread. Callers wait with `poll` for the events in `awaited`. So a client never blocks
/// while writing to an agent that is itself blocked while writing to the client.
struct AgentSocket: ~Copyable {
    private let socket: FileDescriptor
    private var decoder = FrameDecoder(limits: Frame.messageLimits)
    private var outgoing: [UInt8] = []
    private var sent = 0

    init(_ socket: consuming FileDescriptor) {
        self.socket = socket
    }

    /// The events to `poll` for.
    var awaited: pollfd {
        pollfd(fd: socket.number, events: Int16(POLLIN) | (outgoing.isEmpty ? 0 : Int16(POLLOUT)), revents: 0)
    }

    /// Sends as much of a request as the socket currently accepts; `flush` sends the rest.
    ///
    /// - Throws: `invalidValue` if the request is too large; `agentUnavailable` if the connection is lost.
    mutating func send(_ request: NumberedRequest) throws(DefaultsError) {
        let frame = try Frame.encode(request.fields)
        guard frame.count <= Frame.standardLimit else {
            throw DefaultsError(
                .invalidValue,
                "The values are too large to set at once: \(frame.count) bytes, and the agent accepts at most "
                    + "\(Frame.standardLimit).",
                remedy: "Keep large data in a file of its own.")
        }
        outgoing += frame
        try flush()
    }

    /// Sends as many pending bytes as the socket currently accepts.
    mutating func flush() throws(DefaultsError) {
        while sent < outgoing.count {
            let number = socket.number
            let count = outgoing[sent...].withUnsafeBytes {
                Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return }
                throw Self.lost(errno)
            }
            sent += count
        }
        outgoing.removeAll(keepingCapacity: outgoing.count < 1 << 16)
        sent = 0
    }

    /// Receives the bytes that have arrived.
    ///
    /// - Returns: False if there are none.
    /// - Throws: `agentUnavailable` if the connection is lost.
    mutating func receive() throws(DefaultsError) -> Bool {
        var failure: Int32?
        let number = socket.number
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
            var count = -1
            repeat {
                count = recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            } while count < 0 && errno == EINTR
            if count < 0, errno != EAGAIN { failure = errno }
            if count == 0 { failure = ECONNRESET }
            filled = max(0, count)
        }
        if let failure { throw Self.lost(failure) }
        decoder.append(bytes)
        return !bytes.isEmpty
    }

    /// Dequeues the next complete message; returns `nil` if more must be received first.
    mutating func next() throws(DefaultsError) -> NumberedMessage? {
        guard let fields = try decoder.next() else { return nil }
        return try NumberedMessage(fields)
    }

    private static func lost(_ number: Int32) -> DefaultsError {
        DefaultsError(.agentUnavailable, errno: number, "The connection to the agent was lost")
    }
}

/// The opening of connections to Unix sockets.
enum UnixSocket {
    /// Connects to an agent.
    ///
    /// - Parameters:
    ///   - address: The socket.
    ///   - timeout: The time to wait for an agent that accepts no connections, in milliseconds.
    /// - Returns: The connected socket; `nil` if no agent is listening there, or if the user didn't name the socket and
    ///   its directory can't be trusted.
    /// - Throws: `DefaultsError` if the directory of a socket named by the user can't be trusted, if the listening
    ///   process can't be trusted, or if the connection fails for another reason.
    static func connect(
        to address: AgentAddress, timeout: Int64 = AgentTimeouts.session
    ) throws(DefaultsError) -> FileDescriptor? {
        if address.problem != nil || access(address.socketPath, F_OK) != 0 && errno == ENOENT { return nil }
        do throws(DefaultsError) { try address.checkDirectory() } catch {
            // At the default address, an untrusted directory only means that no agent can be listening there.
            if address.isExplicit { throw error }
            return nil
        }
        do throws(SystemCall.Failure) {
            let number = try SystemCall.run {
                socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            }
            let descriptor = FileDescriptor(owning: number)
            // Limit the wait for a stopped agent, which accepts no connections.
            var limit = timeval(tv_sec: Int(timeout / 1_000), tv_usec: Int(max(1, timeout % 1_000) * 1_000))
            setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            // `AgentAddress` has checked the length of the path.
            guard let path = UnixAddress(path: address.socketPath) else { return nil }
            try SystemCall.run { path.with { Glibc.connect(number, $0, $1) } }
            // The directory may have changed since it was checked, so the peer is checked before anything is sent.
            guard SocketPeer(of: descriptor)?.isTrusted == true else { throw SystemCall.Failure(number: EPERM) }
            return descriptor
        } catch {
            if error.number == ECONNREFUSED || error.number == ENOENT { return nil }
            throw DefaultsError(
                .agentUnavailable, errno: error.number, "The agent's socket \(address.socketPath) can't be reached")
        }
    }
}
