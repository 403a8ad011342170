package import Glibc
package import Linux

/// The socket to an agent, which sends requests and receives messages, and waits only to connect and in `wait`.
///
/// It must be used by only one thread at a time. Callers of the other methods wait with `poll` for the events in
/// `awaited`. So a client never blocks while writing to an agent that is itself blocked while writing to the client.
package struct AgentSocket: ~Copyable {
    private let socket: FileDescriptor
    private var decoder = FrameDecoder(limits: Frame.messageLimits)
    private var outgoing: [UInt8] = []
    private var sent = 0
    /// The number of the latest request.
    package private(set) var lastNumber: UInt64 = 0
    /// The listening process.
    package let peer: SocketPeer

    /// Connects to the agent that is listening at a path.
    ///
    /// - Parameters:
    ///   - path: The path of the socket's file.
    ///   - timeout: The time to wait for an agent that accepts no connections, in milliseconds.
    /// - Throws: The failure to connect; EPERM if the listening process can't be trusted.
    package init(connectingTo path: String, timeout: Int64) throws(SystemCall.Failure) {
        let socket = try UnixSocket.connect(to: path, timeout: timeout)
        // Any program that can replace the file can listen there, so the peer is checked before anything is sent.
        guard let peer = SocketPeer(of: socket), peer.isTrusted else { throw SystemCall.Failure(number: EPERM) }
        self.peer = peer
        self.socket = socket
    }

    /// The events to `poll` for.
    package var awaited: pollfd {
        pollfd(fd: socket.number, events: Int16(POLLIN) | (outgoing.isEmpty ? 0 : Int16(POLLOUT)), revents: 0)
    }

    /// Sends as much of a request as the socket currently accepts; `flush` sends the rest.
    ///
    /// - Returns: The request's number.
    /// - Throws: `invalidValue` if the request is too large; `agentUnavailable` if the connection is lost.
    @discardableResult
    package mutating func send(_ request: Request) throws(DefaultsError) -> UInt64 {
        lastNumber += 1
        try send(NumberedRequest(number: lastNumber, request: request).fields)
        return lastNumber
    }

    /// Sends as much of a message as the socket currently accepts; `flush` sends the rest.
    ///
    /// - Throws: `invalidValue` if the message is too large; `agentUnavailable` if the connection is lost.
    package mutating func send(_ fields: DomainValues) throws(DefaultsError) {
        let frame = try Frame.encode(fields)
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
    package mutating func flush() throws(DefaultsError) {
        while sent < outgoing.count {
            let number = socket.number
            let count = outgoing[sent...].withUnsafeBytes {
                Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return }
                let failure = Self.lost(errno)
                // Nothing can be sent anymore, so `awaited` must not have the caller try.
                (outgoing, sent) = ([], 0)
                throw failure
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
    package mutating func receive() throws(DefaultsError) -> Bool {
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

    /// Blocks until bytes can be received or sent, and receives or sends them.
    ///
    /// - Parameters:
    ///   - milliseconds: The timeout; -1 for none.
    ///   - output: A pipe or socket; the wait ends when its reader closes it. -1 for none.
    /// - Returns: False after the timeout, or if the output has no reader.
    /// - Throws: `agentUnavailable` if the connection is lost.
    package mutating func wait(
        within milliseconds: Int32, whileReading output: Int32 = -1
    ) throws(DefaultsError) -> Bool {
        // `poll` ignores a descriptor of -1. For the output, no events are requested, but its closing is always
        // reported.
        var polls = [awaited, pollfd(fd: output, events: 0, revents: 0)]
        let ready = poll(&polls, 2, milliseconds)
        if ready == 0 || polls[1].isClosed { return false }
        if polls[0].revents & Int16(POLLOUT) != 0 { try flush() }
        if polls[0].revents & ~Int16(POLLOUT) != 0 { _ = try receive() }
        return true
    }

    /// Dequeues the next complete message; returns `nil` if more must be received first.
    package mutating func next() throws(DefaultsError) -> NumberedMessage? {
        guard let fields = try nextFields() else { return nil }
        return try NumberedMessage(fields)
    }

    /// Dequeues the entries of the next complete message; returns `nil` if more must be received first.
    package mutating func nextFields() throws(DefaultsError) -> Fields? { try decoder.next() }

    private static func lost(_ number: Int32) -> DefaultsError {
        DefaultsError(.agentUnavailable, errno: number, "The connection to the agent was lost")
    }
}
