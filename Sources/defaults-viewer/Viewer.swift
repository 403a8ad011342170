#if Viewer
import DefaultsCore
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

/// The server of the page: what its connections share.
///
/// Everything is confined to one event loop.
final class Viewer: Sendable {
    /// The numbers that keep the server small and lively.
    enum Limits {
        static let connections = 64
        /// The number of refused connections that are answered at a time.
        static let refusals = 16
        /// The size of a request's body, in bytes: an edit of a large value is the largest.
        static let body = 64 << 20
        /// The time for a whole request to arrive, and between requests.
        static let request = TimeAmount.seconds(10)
        /// The time for the agent to say its status, which is shorter than that after which the page thinks the viewer
        /// hangs.
        static let status = TimeAmount.seconds(4)
        /// The time for the agent to answer with values, which may be large.
        static let values = TimeAmount.seconds(90)
        /// The size of unread events, in bytes, above which a page's stream waits until they are read.
        static let unread = 16 << 20
    }

    /// The changing part; accessed only on the event loop.
    struct State {
        var access = Access()
        let bridge: Bridge
        var connections = 0
        var refusals = 0
        var streams: [ObjectIdentifier: EventStream] = [:]
        var end: Scheduled<Void>?
        var whenEntered: @Sendable () -> Void = {}
    }

    let isReadOnly: Bool
    /// The time after the last page closed until the program ends.
    private let aloneTime: TimeAmount
    /// The domain that the page shows first, as parameters of an address; may be empty.
    let place: String
    let loop: any EventLoop
    let state: NIOLoopBoundBox<State>

    init(
        _ bridge: sending Bridge, showing domain: String?, _ host: String?, isReadOnly: Bool, endingAfter: TimeAmount,
        on loop: any EventLoop
    ) {
        (self.isReadOnly, self.aloneTime, self.loop) = (isReadOnly, endingAfter, loop)
        let host = host.map { "&host=\(Self.escaped($0))" } ?? ""
        place = domain.map { "domain=\(Self.escaped($0))\(host)" } ?? ""
        state = .makeBoxSendingValue(State(bridge: bridge), eventLoop: loop)
    }

    /// Opens a port of the loopback interface, and returns it.
    ///
    /// - Throws: `SystemCall.Failure` if the kernel can't say which user opens a connection.
    func listen() throws -> Int {
        let channel = try ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Another user's flood of connections must not crowd out the browser's. The kernel has a limit of its own.
            .serverChannelOption(.backlog, value: 4096)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1 << 20, high: Limits.unread))
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard state.value.connections < Limits.connections else { throw ChannelError.operationUnsupported }
                    // The loopback interface is open to all users, and one of them could have the cookie.
                    if let refusal = ConnectionOwner(of: channel).refusal {
                        // A few are told the reason; a flood of them must not use up this process's descriptors.
                        guard state.value.refusals < Limits.refusals else { throw ChannelError.operationUnsupported }
                        state.value.refusals += 1
                        channel.closeFuture.whenComplete { _ in self.state.value.refusals -= 1 }
                        return try channel.pipeline.syncOperations.addHandler(refusal)
                    }
                    state.value.connections += 1
                    channel.closeFuture.whenComplete { _ in self.state.value.connections -= 1 }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(HTTPConnection(self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        try ConnectionOwner.check(for: channel)
        let port = channel.localAddress?.port ?? 0
        try loop.submit { [self] in
            state.value.bridge.onWelcome = { [self] message in
                for stream in state.value.streams.values { stream.announce(message) }
            }
            endIfAlone()
        }.wait()
        return port
    }

    /// Returns the address that works once.
    func entrance(of port: Int) throws -> String {
        try loop.submit { [self] in state.value.access.address(port: port) ?? "" }.wait()
    }

    /// Calls a function once the address has been used.
    func whenEntered(_ body: @escaping @Sendable () -> Void) {
        loop.execute { [self] in state.value.whenEntered = body }
    }

    /// Calls a function if the address isn't used in time.
    func ifNotEntered(within time: TimeAmount, _ body: @escaping @Sendable () -> Void) {
        loop.scheduleTask(in: time) { [self] in
            if state.value.access.token != nil { body() }
        }
    }

    /// Returns a text as a part of an address (RFC 3986, section 2.1).
    private static func escaped(_ text: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
        return text.utf8.map { byte in
            if plain.contains(byte) { return String(UnicodeScalar(byte)) }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    // MARK: Pages

    func add(_ stream: EventStream) {
        state.value.streams[ObjectIdentifier(stream)] = stream
        state.value.end?.cancel()
    }

    func remove(_ stream: EventStream) {
        state.value.streams[ObjectIdentifier(stream)] = nil
        endIfAlone()
    }

    private func endIfAlone() {
        guard state.value.streams.isEmpty else { return }
        state.value.end?.cancel()
        state.value.end = loop.scheduleTask(in: aloneTime) {
            // As if the user had ended the program.
            kill(getpid(), SIGTERM)
        }
    }
}
#endif
