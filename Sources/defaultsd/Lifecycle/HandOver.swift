import DefaultsCore
import Glibc
import Linux

/// The request to a private agent, started by `defaults tail`, to hand over to this agent.
enum HandOver {
    /// The outcome of a request.
    enum Answer {
        /// The agent shuts down and releases its claims.
        case granted
        case refused
        /// No agent is listening there, or the agent doesn't answer.
        case unanswered
    }

    /// The timeout for connecting and for each answer, in seconds.
    private static let timeout = 2

    /// Asks an agent to hand over, after checking that it is the expected one.
    ///
    /// - Parameters:
    ///   - holder: The agent named by its claim, although another program may now be listening on its socket.
    ///   - directory: The directory that the agent must serve; `nil` if its claim is on the directory itself.
    /// - Returns: The agent's answer.
    static func request(to holder: AgentClaim.Holder, serving directory: PreferencesDirectory?) -> Answer {
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let number = socket.number
        var limit = timeval(tv_sec: timeout, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(number, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard let address = UnixAddress(path: holder.socketPath), address.with({ connect(number, $0, $1) }) == 0,
            SocketPeer(of: socket)?.isTrusted == true
        else { return .unanswered }
        var talk = Talk(socket: number)
        switch talk.answer(to: .greeting) {
        case .welcome(let welcome)?:
            // Both process IDs are from the agent's own namespace.
            guard welcome.pid == Int64(holder.pid) else { return .unanswered }
            if let directory, !PreferencesDirectory(path: welcome.directory).isSame(as: directory) {
                return .refused
            }
        case .failure?: return .refused
        default: return .unanswered
        }
        return switch talk.answer(to: .handOver) {
        case .handingOver?: .granted
        case .failure?: .refused
        default: .unanswered
        }
    }

    /// An exchange of requests and answers on a connected socket.
    private struct Talk {
        let socket: Int32
        private var lastNumber: UInt64 = 0
        private var decoder = FrameDecoder(limits: Frame.messageLimits)

        init(socket: Int32) { self.socket = socket }

        /// Sends a request and waits for its answer; returns `nil` if no valid answer arrives.
        mutating func answer(to request: Request) -> Message? {
            lastNumber += 1
            let numbered = NumberedRequest(number: lastNumber, request: request)
            // Requests are short enough that the socket accepts each in one piece.
            guard let frame = try? Frame.encode(numbered.fields),
                send(socket, frame, frame.count, Int32(MSG_NOSIGNAL)) == frame.count
            else { return nil }
            let end = ContinuousClock.now + .seconds(timeout)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while .now < end {
                do throws(DefaultsError) {
                    if let fields = try decoder.next() { return try NumberedMessage(fields).message }
                } catch {
                    return nil
                }
                let count = recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { return nil }
                decoder.append(buffer[..<count])
            }
            return nil
        }
    }
}
