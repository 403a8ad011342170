import CLinux
import DefaultsCore
import Glibc
import Linux
import NIOCore
import NIOPosix

/// The signals to which the agent reacts, read on its event loop instead of interrupting a thread.
struct Signals: Sendable {
    /// The signals that end the agent while it is starting; the others wait for `control`.
    let starting: SignalDescriptor
    /// The signals that end the agent, restart it, or make it check every file.
    let control: SignalDescriptor
    /// The signal that says that the watcher has events to read.
    ///
    /// inotify's descriptor can't be on NIO's event loop, since NIO reads from its descriptors itself and
    /// libinotifytools insists on doing so, too. But the kernel can send a signal when events are queued, and NIO can
    /// read signals. So a change to a file wakes the loop without another thread in between.
    let events: SignalDescriptor

    /// The number of the signal that says that the watcher has events.
    static let eventNumber = SIGIO
    /// The number of the signal that says that the process which started a private agent has exited.
    static let parentEnded = SIGUSR1

    private static let ending = [SIGTERM, SIGINT]
    private static let controlling = ending + [SIGHUP, SIGUSR2, parentEnded]

    /// Blocks the signals that control the agent, which stay pending until they are read.
    ///
    /// Called first, since some of them would otherwise end a program that has just started.
    static func block() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in controlling { sigaddset(&signals, signal) }
        sigprocmask(SIG_BLOCK, &signals, nil)
    }

    /// Opens the descriptors, and blocks the signals, which stay pending until they are read.
    ///
    /// Must be called before any other thread starts, since threads inherit the signal mask.
    ///
    /// - Throws: A `DefaultsError` if no file descriptor is left.
    init() throws(DefaultsError) {
        starting = try SignalDescriptor(Self.ending)
        control = try SignalDescriptor(Self.controlling)
        events = try SignalDescriptor([Self.eventNumber])
    }
}

/// A descriptor from which signals can be read (`man 2 signalfd`).
struct SignalDescriptor: Sendable {
    private let number: Int32

    fileprivate init(_ signals: [Int32]) throws(DefaultsError) {
        // The agent reacts to them even if the program that started it ignores some, as nohup does with SIGHUP.
        for signal in signals { Glibc.signal(signal, SIG_DFL) }
        number = linux_signalfd(signals, Int32(signals.count))
        guard number >= 0 else {
            throw DefaultsError(.agentUnavailable, errno: errno, "The agent can't wait for signals")
        }
    }

    /// Reads signals on an event loop, one at a time, until the given function returns `false`.
    ///
    /// Signals that arrive later stay pending, also for a program that replaces this one.
    func read(
        on eventLoop: any EventLoop, _ receive: @escaping @Sendable (Int32) -> Bool
    ) async throws -> SignalReader {
        let channel = try await NIOPipeBootstrap(group: eventLoop)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: SignalHandler.size))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(SignalHandler(receive))
                }
            }
            .takingOwnershipOfDescriptor(input: number).get()
        return SignalReader(channel: channel)
    }
}

/// The reading of signals on an event loop, which can be paused.
struct SignalReader: Sendable {
    fileprivate let channel: any Channel

    /// Leaves signals pending until `resume`.
    func pause() { channel.setOption(.autoRead, value: false).whenFailure { _ in } }

    /// Leaves signals pending for another descriptor.
    func close() { channel.close(promise: nil) }

    func resume() { channel.setOption(.autoRead, value: true).whenFailure { _ in } }
}

/// The handler of the signals that NIO has read.
private final class SignalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The size of a `signalfd_siginfo`, which begins with the signal's number.
    static let size = 128

    private let receive: (Int32) -> Bool

    init(_ receive: @escaping (Int32) -> Bool) {
        self.receive = receive
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard let number = bytes.getInteger(at: bytes.readerIndex, endianness: .host, as: Int32.self) else { return }
        if !receive(number) { context.close(promise: nil) }
    }
}
