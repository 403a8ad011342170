import DefaultsCore
import Glibc

/// The request to an agent that `defaults tail` has started to leave its place to this one.
enum HandOver {
    /// The outcome of a request.
    enum Answer {
        /// The agent ends, and lets its claims go.
        case granted
        case refused
        /// Nobody listens there, or answers.
        case unanswered
    }

    /// How long an agent may take to take a connection, or to answer, in seconds.
    private static let patience = 2

    /// Asks the agent that listens at a path.
    static func request(at path: String) -> Answer {
        let socket = FileDescriptor(
            owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let number = socket.number
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(number, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard let address = UnixAddress(path: path), address.with({ connect(number, $0, $1) }) == 0,
            SocketPeer(of: socket)?.isTrusted == true, send(on: number)
        else { return .unanswered }
        return answer(on: number)
    }

    private static func send(on socket: Int32) -> Bool {
        let requests: [Request] = [
            .hello(protocolVersion: Request.protocolVersion, client: AppIdentity.current.executable), .handOver,
        ]
        for (index, request) in requests.enumerated() {
            let numbered = NumberedRequest(number: UInt64(index) + 1, request: request)
            // They are so short that a socket takes them whole.
            guard let frame = try? Frame.encode(numbered.fields),
                Glibc.send(socket, frame, frame.count, Int32(MSG_NOSIGNAL)) == frame.count
            else { return false }
        }
        return true
    }

    private static func answer(on socket: Int32) -> Answer {
        let end = ContinuousClock.now + .seconds(patience)
        var decoder = FrameDecoder(limits: Frame.messageLimits)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while .now < end {
            do throws(DefaultsError) {
                if let fields = try decoder.next() {
                    switch try NumberedMessage(fields).message {
                    case .handingOver: return .granted
                    case .failure: return .refused
                    default: continue
                    }
                }
            } catch {
                return .refused
            }
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return .unanswered }
            decoder.append(buffer[..<count])
        }
        return .unanswered
    }
}
