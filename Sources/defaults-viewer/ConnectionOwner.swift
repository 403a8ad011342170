#if Viewer
import Glibc
import Linux
import NIOCore

/// The user at the other end of a connection on the loopback interface.
enum ConnectionOwner {
    case thisUser
    /// Another user, or none: the connection may have been closed since it was accepted.
    case other
    case unknown(SystemCall.Failure)

    /// Asks the kernel for the socket of a connection's peer.
    init(of connection: any Channel) {
        guard case .v4(let own)? = connection.localAddress, case .v4(let peer)? = connection.remoteAddress else {
            self = .other
            return
        }
        do throws(SystemCall.Failure) {
            let socket = try TCPSocket(at: peer.address, connectedTo: own.address)
            self = socket.isConnected && socket.uid == getuid() ? .thisUser : .other
        } catch {
            self = error.number == ENOENT ? .other : .unknown(error)
        }
    }

    /// Checks that the kernel can be asked, by asking for the socket that listens for connections.
    static func check(for listener: any Channel) throws(SystemCall.Failure) {
        guard case .v4(let own)? = listener.localAddress else { throw SystemCall.Failure(number: EAFNOSUPPORT) }
        _ = try TCPSocket(at: own.address, connectedTo: nil)
    }

    /// The answer that refuses the connection; `nil` if this user has opened it.
    var refusal: Refusal? {
        switch self {
        case .thisUser: nil
        case .other: Refusal("403 Forbidden", because: "Only the user who started this server may use it.")
        case .unknown(let failure):
            Refusal(
                "503 Service Unavailable",
                because: "The kernel doesn't say which user has opened this connection: "
                    + "\(SystemCall.message(failure.number)). Try again.")
        }
    }
}

/// Answers a refused connection without reading what it asks.
final class Refusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let status: String
    private let reason: String

    init(_ status: String, because reason: String) { (self.status, self.reason) = (status, reason) }

    func channelActive(context: ChannelHandlerContext) {
        let answer =
            "HTTP/1.1 \(status)\r\nContent-Type: text/plain\r\nContent-Length: \(reason.utf8.count + 1)\r\n"
            + "Connection: close\r\n\r\n\(reason)\n"
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        // Discard the request meanwhile: closing at once would discard the answer.
        context.eventLoop.scheduleTask(in: .milliseconds(500)) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
#endif
