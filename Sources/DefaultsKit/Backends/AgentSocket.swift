import DefaultsCore
import Glibc

/// The socket to an agent: requests out, messages in, and no call that waits.
///
/// For one thread. Who waits does so with `poll`, for what `awaited` says; so nobody is stuck in writing to an agent that
/// is itself stuck in writing.
struct AgentSocket: ~Copyable {
    private let socket: FileDescriptor
    private var decoder = FrameDecoder(limits: Frame.messageLimits)
    private var outgoing: [UInt8] = []
    private var sent = 0

    init(_ socket: consuming FileDescriptor) {
        self.socket = socket
    }

    /// What to wait for with `poll`.
    var awaited: pollfd {
        pollfd(fd: socket.number, events: Int16(POLLIN) | (outgoing.isEmpty ? 0 : Int16(POLLOUT)), revents: 0)
    }

    /// Sends a request, as far as the agent takes it now; the rest goes with `flush`.
    mutating func send(_ request: NumberedRequest) throws(DefaultsError) {
        let frame = try Frame.encode(request.fields)
        guard frame.count <= Frame.standardLimit else {
            throw DefaultsError(
                .invalidValue,
                "The values are too large to be set at once: \(frame.count) bytes, of which an agent takes "
                    + "\(Frame.standardLimit); keep what is large in a file of its own.")
        }
        outgoing += frame
        try flush()
    }

    /// Sends what waits, as far as the agent takes it now.
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

    /// Takes bytes that have come.
    ///
    /// - Returns: false when none have.
    /// - Throws: `agentUnavailable` when the connection is lost.
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

    /// Takes the next whole message; `nil` when more must be received first.
    mutating func next() throws(DefaultsError) -> NumberedMessage? {
        guard let fields = try decoder.next() else { return nil }
        return try NumberedMessage(fields)
    }

    private static func lost(_ number: Int32) -> DefaultsError {
        DefaultsError(.agentUnavailable, errno: number, "The connection to the agent is lost")
    }
}
