import NIOCore

/// Has the agent's socket take no connections for a second when one couldn't be taken for want of descriptors.
///
/// NIO's `AcceptBackoffHandler` leaves out the next read, but the socket stays registered as one that is waited for: as
/// long as a connection waits, the loop would turn without a pause.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenFailure { _ in }
        context.eventLoop.scheduleTask(in: .seconds(1)) {
            channel.setOption(.autoRead, value: true).whenFailure { _ in }
        }
        context.fireErrorCaught(error)
    }
}
