package import DefaultsCore
import Glibc
package import Linux
package import Synchronization
import TestSupport

/// A fake agent whose replies a test chooses, to act as an older agent, a slow one, or one that ends at a bad moment.
///
/// It serves one connection at a time, on a separate thread.
package final class ScriptedAgent: Sendable {
    /// The answer to one request.
    package enum Reply {
        /// Messages, each with the number of the request that it answers.
        case messages([NumberedMessage])
        /// Messages after which the connection ends.
        case last([NumberedMessage])
    }

    /// The number of connections so far.
    package let connections = Atomic(0)
    /// The preferences directory.
    package let path: String
    private let protocolVersion: Int64
    private let script: @Sendable (NumberedRequest, ScriptedAgent) -> Reply

    private init(
        _ path: String, protocolVersion: Int64, _ script: @escaping @Sendable (NumberedRequest, ScriptedAgent) -> Reply
    ) {
        self.path = path
        self.protocolVersion = protocolVersion
        self.script = script
    }

    /// Returns the position in the agent's log after a number of records.
    package static func cursor(_ revision: Revision, epoch: UInt64 = 1) -> Cursor {
        Cursor(epoch: Epoch(value: epoch), revision: revision)
    }

    /// Runs a body with an agent.
    ///
    /// - Parameters:
    ///   - protocolVersion: The version of the protocol that the agent speaks.
    ///   - script: A function that returns the reply to each request except the greeting.
    ///   - body: The body, called with the agent and the environment of its clients.
    /// - Throws: The body's error, or an error if the agent can't listen.
    package static func with(
        protocolVersion: Int64 = Request.protocolVersions.upperBound,
        _ script: @escaping @Sendable (NumberedRequest, ScriptedAgent) -> Reply,
        _ body: (ScriptedAgent, Environment) throws -> Void
    ) throws {
        try withTemporaryDirectory { path in
            let listener = try listeningSocket(at: "\(path)/socket")
            let number = listener.number
            let agent = ScriptedAgent(path, protocolVersion: protocolVersion, script)
            try withBackgroundThread { mayGoOn in
                while mayGoOn() {
                    var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                    guard poll(&waiting, 1, 10) == 1 else { continue }
                    agent.connections.add(1, ordering: .relaxed)
                    agent.serve(FileDescriptor(owning: accept(number, nil, nil)), while: mayGoOn)
                }
            } while: {
                try body(
                    agent,
                    Environment([
                        "DEFAULTS_DIRECTORY": path, "DEFAULTSD_SOCKET": "\(path)/socket",
                        "DEFAULTS_SYSTEM_DIRECTORIES": path + "/none", "DEFAULTS_MANAGED_DIRECTORY": path + "/none",
                    ]))
            }
        }
    }

    private func serve(_ socket: consuming FileDescriptor, while mayGoOn: () -> Bool) {
        var decoder = FrameDecoder(limits: Frame.requestLimits)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while mayGoOn() {
            var waiting = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 10) == 1 else { continue }
            let count = read(socket.number, &buffer, buffer.count)
            guard count > 0 else { return }
            decoder.append(buffer[..<count])
            while let fields = try? decoder.next(), let request = try? NumberedRequest(fields, from: .current) {
                switch reply(to: request) {
                case .messages(let messages): Self.send(messages, to: socket.number)
                case .last(let messages): return Self.send(messages, to: socket.number)
                }
            }
        }
    }

    private func reply(to request: NumberedRequest) -> Reply {
        guard case .hello = request.request else { return script(request, self) }
        let welcome = Message.welcome(
            Welcome(
                pid: Int64(getpid()), directory: path, system: .none, cursor: Self.cursor(0),
                protocolVersion: protocolVersion))
        return .messages([NumberedMessage(number: request.number, message: welcome)])
    }

    private static func send(_ messages: [NumberedMessage], to socket: Int32) {
        let frames = messages.flatMap { (try? Frame.encode($0.fields)) ?? [] }
        var sent = 0
        while sent < frames.count {
            let count = frames[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}

/// Returns a socket that listens at a path.
package func listeningSocket(at path: String) throws -> FileDescriptor {
    let listener = FileDescriptor(
        owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    let number = listener.number
    let bound = UnixAddress(path: path)?.with { bind(number, $0, $1) }
    guard bound == 0, listen(number, 8) == 0 else { throw TestSystemError("listen \(path)") }
    return listener
}
