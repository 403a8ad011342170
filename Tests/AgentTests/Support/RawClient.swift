import DefaultsCore
import Glibc
import Linux
import PropertyList
import TestSupport

/// A client that can send anything to the agent, well-formed or not.
final class RawClient {
    private let socket: FileDescriptor
    private var decoder = FrameDecoder(limits: Frame.messageLimits)

    /// Connects without a greeting.
    init(_ path: String) throws {
        let low = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // A high descriptor if possible: inotify's tests in this process need the low ones.
        let high = fcntl(low, F_DUPFD_CLOEXEC, 1_024)
        if high >= 0 { close(low) }
        socket = FileDescriptor(owning: high >= 0 ? high : low)
        let number = socket.number
        let connected = UnixAddress(path: path)?.with { connect(number, $0, $1) }
        guard connected == 0 else { throw TestSystemError("connect \(path)") }
    }

    /// Returns a client that has connected and exchanged greetings.
    static func greeted(_ path: String) throws -> RawClient {
        let client = try RawClient(path)
        try client.send(["type": "hello", "request": 1, "protocol": 1, "client": "test"])
        guard case .string("welcome")? = try client.receive()?["type"] else {
            throw TestSystemError("The agent sent no welcome")
        }
        return client
    }

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw TestSystemError("send")
        }
    }

    /// Sends a message in a frame.
    func send(_ message: DomainValues) throws {
        try send(Frame.encode(message))
    }

    /// Sends bytes in a frame.
    func send(framed payload: [UInt8]) throws {
        try send(withUnsafeBytes(of: UInt32(payload.count).bigEndian, Array.init) + payload)
    }

    /// Waits for the next message and returns it, or `nil` if the agent has closed the connection.
    func receive() throws -> DomainValues? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let fields = try decoder.next() { return fields.values }
            var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 30_000) == 1 else { throw TestSystemError("The agent sent nothing") }
            let count = read(socket.number, &buffer, buffer.count)
            if count == 0 || (count < 0 && errno == ECONNRESET) { return nil }
            guard count > 0 else { throw TestSystemError("read") }
            decoder.append(buffer[..<count])
        }
    }

    /// Whether anything has arrived that hasn't been received yet.
    var hasAnswer: Bool {
        var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) == 1
    }

    /// Waits for the next message and returns its type and, for a failure, its code.
    func answer() throws -> String {
        guard let message = try receive() else { return "closed" }
        guard case .string(let type)? = message["type"] else { return "?" }
        guard case .string(let code)? = message["code"] else { return type }
        return "\(type) \(code)"
    }
}
