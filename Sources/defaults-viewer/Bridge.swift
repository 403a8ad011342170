#if Viewer
import DefaultsCommand
import DefaultsCore
import Glibc
import Linux
import NIOCore
import NIOPosix
import PropertyList

/// The process `defaults bridge`, through which everything is asked and followed.
///
/// It finds the agent again after a restart, resumes streams, and makes no edit twice. If it ends, which happens if no
/// agent can run, the next request starts another one. Confined to one event loop.
final class Bridge {
    /// A function that is called with each event, and with `nil` if the bridge has ended.
    typealias Receiver = (_ message: Message?) -> Void

    /// A line from the bridge.
    struct Message {
        let text: ByteBuffer
        let fields: DomainValues

        var type: String { if case .string(let type)? = fields["type"] { type } else { "" } }
        var cursor: String? { if case .string(let cursor)? = fields["cursor"] { cursor } else { nil } }
    }

    /// The outcome of a request.
    enum Answer {
        case message(Message)
        /// No answer came in time.
        case silence
        /// The bridge has ended, or can't be started.
        case end
    }

    let command: String
    private var channel: (any Channel)?
    private var answers: [Int64: (Answer) -> Void] = [:]
    private var streams: [Int64: Receiver] = [:]
    private var last: Int64 = 0
    /// The announcement of the current agent.
    private(set) var welcome: Message?
    /// The function that is called with each announcement.
    var onWelcome: (Message) -> Void = { _ in }

    init(_ command: String) { self.command = command }

    /// Makes a request, and calls the receiver once, with the answer or the reason for its absence.
    func ask(
        _ request: DomainValues, within time: TimeAmount?, on loop: any EventLoop,
        _ receiver: @escaping (_ answer: Answer) -> Void
    ) {
        guard let number = send(request, on: loop) else { return receiver(.end) }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let end = time.map { time in
            loop.scheduleTask(in: time) { bound.value.answers.removeValue(forKey: number)?(.silence) }
        }
        answers[number] = { answer in
            end?.cancel()
            receiver(answer)
        }
    }

    /// Subscribes, and calls the receiver with everything that follows.
    ///
    /// - Returns: The number of the subscription; `nil` if the bridge can't be started.
    func follow(_ request: DomainValues, on loop: any EventLoop, _ receiver: @escaping Receiver) -> Int64? {
        guard let number = send(request, on: loop) else { return nil }
        streams[number] = receiver
        return number
    }

    func unfollow(_ number: Int64, on loop: any EventLoop) {
        guard streams.removeValue(forKey: number) != nil else { return }
        _ = send(["type": "unsubscribe", "subscription": .integer(number)], on: loop)
    }

    /// Sends a request as one line, with a number of its own.
    private func send(_ request: DomainValues, on loop: any EventLoop) -> Int64? {
        if channel == nil { start(on: loop) }
        guard let channel else { return nil }
        last += 1
        // The page's text could have several lines, each of which would be a request.
        let line = JSONText.of(.dictionary(request.merging(["request": .integer(last)]) { $1 }))
        channel.writeAndFlush(ByteBuffer(string: line + "\n"), promise: nil)
        return last
    }

    private func start(on loop: any EventLoop) {
        guard let input = try? SystemCall.pipe() else { return }
        guard let output = try? SystemCall.pipe() else {
            close(input.reader)
            close(input.writer)
            return
        }
        let child = try? ChildProcess.start(
            command, with: ["defaults", "bridge"], input: input.reader, output: output.writer, inheritsFiles: false)
        close(input.reader)
        close(output.writer)
        guard let child else {
            close(input.writer)
            close(output.reader)
            return
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        // A channel of pipes on the loop is registered at once.
        NIOPipeBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    bound.value.channel = channel
                    try channel.pipeline.syncOperations.addHandler(BridgeLines(bound.value, child))
                }
            }
            .takingOwnershipOfDescriptors(input: output.reader, output: input.writer)
            .whenFailure { _ in bound.value.hasEnded() }
    }

    fileprivate func receive(_ line: ByteBuffer) {
        let value: PropertyListValue
        do throws(Failure) {
            value = try JSONReader.read(Array(line.readableBytesView), limits: Frame.messageLimits)
        } catch {
            DefaultsViewer.log("The bridge's answer can't be read, so it is started again: \(error.message)")
            channel?.close(promise: nil)
            return
        }
        guard case .dictionary(let fields) = value else { return }
        let message = Message(text: line, fields: fields)
        guard case .integer(let number)? = fields["request"] else {
            if message.type == "welcome" {
                welcome = message
                onWelcome(message)
            }
            return
        }
        if let receiver = answers.removeValue(forKey: number) {
            receiver(.message(message))
        } else if let receiver = streams[number] {
            receiver(message)
        }
    }

    fileprivate func hasEnded() {
        guard channel != nil else { return }
        (channel, welcome) = (nil, nil)
        let (asked, followed) = (Array(answers.values), Array(streams.values))
        (answers, streams) = ([:], [:])
        for receiver in asked { receiver(.end) }
        for receiver in followed { receiver(nil) }
    }
}

/// Divides a bridge's output into lines.
private final class BridgeLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let bridge: Bridge
    private let child: ChildProcess
    private var rest = ByteBuffer()
    /// The number of bytes in the rest without a line's end.
    private var searched = 0

    init(_ bridge: Bridge, _ child: ChildProcess) { (self.bridge, self.child) = (bridge, child) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var new = unwrapInboundIn(data)
        rest.writeBuffer(&new)
        while let end = rest.readableBytesView.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
            guard let line = rest.readSlice(length: end - rest.readerIndex) else { break }
            rest.moveReaderIndex(forwardBy: 1)
            searched = 0
            bridge.receive(line)
        }
        searched = rest.readableBytes
        // A large line must not keep its memory.
        if searched == 0, rest.capacity > 1 << 16 { rest = ByteBuffer() } else { rest.discardReadBytes() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // It has ended or is ending, since its output is closed.
        _ = try? child.waitUntilExit()
        bridge.hasEnded()
    }
}
#endif
