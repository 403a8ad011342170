import DefaultsCore
import Logging
import NIOCore
import NIOPosix

/// One connection: reads requests, answers them, and sends the events of its subscriptions.
///
/// Confined to the server's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Who is connected, by the socket's word.
    let app: AppIdentity
    /// The streams, by the number of the request that began each.
    private(set) var subscriptions: [UInt64: Subscription] = [:]
    private let server: Server
    private let refusal: DefaultsError?
    private var decoder = FrameDecoder(limits: Frame.requestLimits)
    private var hasGreeted = false
    /// Whether `pump` is at work, and whether it was called since it last looked.
    private var isPumping = false
    private var isWanted = false
    /// Answers that say how far the log has come, oldest first: each waits until the subscriptions' events up to there
    /// have been sent.
    private var answers: CircularBuffer<(cursor: Cursor, message: Message, number: UInt64)> = []
    /// The `widen` requests that wait until their subscription is caught up, oldest first.
    private var widenings: CircularBuffer<Widening> = []
    private static let mostWidenings = 64
    /// The `synchronize` requests that wait for the disk.
    private var barriers = 0
    private static let mostBarriers = 64
    /// A request up to this size is taken in however much others have sent.
    private static let smallRequest = 1 << 20
    /// How many bytes came that aren't answered yet.
    var waitingBytes: Int { decoder.waiting }
    /// Whether an edit on a condition waits to be published; what comes behind it must not overtake it.
    private var isJudging = false
    /// Whether something was asked since `hasAnsweredAll` was.
    private var hasBeenAsked = false
    private var context: ChannelHandlerContext?

    private struct Widening {
        var number: UInt64
        var subscription: UInt64
        var names: [DomainName]
    }

    init(of app: AppIdentity, server: Server, refusal: DefaultsError?) {
        self.app = app
        self.server = server
        self.refusal = refusal
    }

    // MARK: The connection's life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        server.connections.value[ObjectIdentifier(self)] = self
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        server.remove(self)
    }

    func channelActive(context: ChannelHandlerContext) {
        if let refusal { fail(refusal) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        decoder.append(unwrapInboundIn(data).readableBytesView)
        if decoder.waiting > Self.smallRequest, server.waitingBytes > Server.mostWaitingBytes {
            fail(
                DefaultsError(
                    .agentRefused,
                    "The agent holds \(server.waitingBytes) bytes of unfinished requests; send smaller ones, or later.")
            )
            return
        }
        takeRequests()
    }

    /// Answers what has come, as long as the answers are read: nothing piles up on behalf of who doesn't.
    private func takeRequests() {
        do throws(DefaultsError) {
            while mayTakeRequests, let fields = try decoder.next() {
                let number = (try? fields.unsigned("request")) ?? 0
                do throws(DefaultsError) {
                    try answer(NumberedRequest(fields, from: app))
                } catch {
                    // A request that is wrong in itself is answered; one that breaks the protocol ends the connection.
                    if error.code == .protocolViolation { throw error }
                    send(.failure(error), to: number)
                }
            }
        } catch {
            fail(error)
        }
        context?.channel.setOption(.autoRead, value: mayTakeRequests).whenFailure { _ in }
        pump()
    }

    private var mayTakeRequests: Bool {
        context?.channel.isWritable == true && barriers < Self.mostBarriers && widenings.count < Self.mostWidenings
            && !isJudging
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        takeRequests()
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The peer is gone, in one way or another.
        context.close(promise: nil)
    }

    /// Whether nothing is to be answered, nor was since this was last asked.
    func hasAnsweredAll() -> Bool {
        defer { hasBeenAsked = false }
        return !hasBeenAsked && !isJudging && barriers == 0 && answers.isEmpty && widenings.isEmpty
    }

    /// Closes the connection.
    func close() {
        context?.close(promise: nil)
    }

    private func fail(_ error: DefaultsError) {
        server.log.logger.info("Closing the connection of \(app.executable) (pid \(app.pid)): \(error)")
        send(.failure(error), to: 0)
        context?.flush()
        close()
    }

    // MARK: Requests

    private func answer(_ numbered: NumberedRequest) throws(DefaultsError) {
        let number = numbered.number
        hasBeenAsked = true
        if case .hello(let version, let client) = numbered.request {
            try greet(version, client, number)
            return
        }
        guard hasGreeted else {
            throw DefaultsError(.protocolViolation, "The first message must be \"hello\".")
        }
        switch numbered.request {
        case .hello: break
        case .read(let domain): send(.values(server.store.snapshot(of: domain)), to: number)
        case .domains: send(.domains(server.store.domains()), to: number)
        case .edit(let edit) where edit.expecting != nil: judge(edit, number)
        case .edit(let edit): confirm(try server.store.submit(edit), number)
        case .synchronize(let domains): synchronize(domains, number)
        case .subscribe(let start, let filter, let mode): try subscribe(start, filter, mode, number)
        case .widen(let subscription, let names):
            try check(subscription)
            try SubscriptionLimits.checkNames(names.count, beside: subscriptions.values)
            widenings.append(Widening(number: number, subscription: subscription, names: names))
        case .narrow(let subscription, let names):
            try check(subscription)
            for index in widenings.indices where widenings[index].subscription == subscription {
                widenings[index].names.removeAll { names.contains($0) }
            }
            subscriptions[subscription]?.narrow(by: names)
            send(.narrowed, to: number)
        case .unsubscribe(let subscription):
            subscriptions[subscription] = nil
            send(.unsubscribed, to: number)
        case .status: send(.status(StatusReport.fields(of: server)), to: number)
        case .handOver:
            try server.handOver()
            send(.handingOver, to: number)
        }
    }

    private func greet(_ version: Int64, _ client: String, _ number: UInt64) throws(DefaultsError) {
        guard version == Request.protocolVersion else {
            throw DefaultsError(
                .protocolViolation,
                "This agent speaks version \(Request.protocolVersion) of the protocol, \(client) version \(version).")
        }
        hasGreeted = true
        send(
            .welcome(
                protocolVersion: Request.protocolVersion, pid: Int64(AppIdentity.current.pid),
                directory: server.directory.path, system: server.store.system, cursor: server.store.cursor),
            to: number)
    }

    /// Has the engine take an edit that expects something, with the file in hand.
    private func judge(_ edit: EditRequest, _ number: UInt64) {
        guard let context else { return }
        let engine = server.engine
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        isJudging = true
        let eventLoop = context.eventLoop
        Task(executorPreference: server.executor) {
            let outcome: Result<Revision, DefaultsError>
            do throws(DefaultsError) {
                outcome = .success(try await engine.commit(edit))
            } catch {
                outcome = .failure(error)
            }
            eventLoop.execute {
                bound.value.isJudging = false
                switch outcome {
                case .success(let revision): bound.value.confirm(revision, number)
                // After the changes that refuted it, so that the client knows them when it retries.
                case .failure(let error):
                    bound.value.answers.append((bound.value.server.store.cursor, .failure(error), number))
                }
                bound.value.takeRequests()
            }
        }
    }

    private func confirm(_ revision: Revision, _ number: UInt64) {
        let cursor = Cursor(epoch: server.store.cursor.epoch, revision: revision)
        answers.append((cursor, .edited(cursor), number))
    }

    private func synchronize(_ domains: Set<Domain>?, _ number: UInt64) {
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        barriers += 1
        let eventLoop = context.eventLoop
        server.engine.synchronize(domains) { cursor, failures in
            eventLoop.execute {
                bound.value.barriers -= 1
                bound.value.answers.append((cursor, .synchronized(cursor, failures: failures), number))
                bound.value.takeRequests()
            }
        }
    }

    private func subscribe(
        _ start: Subscription.Start, _ filter: SubscriptionFilter, _ mode: Subscription.Mode, _ number: UInt64
    ) throws(DefaultsError) {
        guard subscriptions[number] == nil else {
            throw DefaultsError(.agentRefused, "The number \(number) is a subscription's already.")
        }
        guard subscriptions.count < server.settings.maximumSubscriptions else {
            throw DefaultsError(
                .agentRefused,
                "A connection may have \(subscriptions.count) subscriptions, the setting MaximumSubscriptions.")
        }
        try SubscriptionLimits.check(filter, beside: subscriptions.values)
        let subscription = server.store.subscribe(start, filter: filter, mode: mode)
        subscriptions[number] = subscription
        send(
            .subscribed(Cursor(epoch: server.store.cursor.epoch, revision: subscription.revision)), to: number)
    }

    /// Checks that a subscription is there.
    private func check(_ number: UInt64) throws(DefaultsError) {
        guard subscriptions[number] != nil else {
            throw DefaultsError(.agentRefused, "The number \(number) is no subscription's.")
        }
    }

    // MARK: Sending

    /// Sends what subscriptions have waiting, as much as the connection takes now.
    ///
    /// Writing and flushing may change whether the connection takes more, and so call this again; what is called again leaves
    /// it to the first call to go on, so that events keep their order.
    func pump() {
        isWanted = true
        guard let context, !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while isWanted {
            isWanted = false
            for number in subscriptions.keys {
                while context.channel.isWritable, writeNext(number, context) { isWanted = true }
            }
            widenSubscriptions(context)
            sendAnswers()
            context.flush()
        }
    }

    /// Answers the `widen` requests whose subscriptions are caught up, oldest first.
    ///
    /// The answer, the values and the bookmark go at once, so that no other event comes between them. Where a record has
    /// been posted since the subscription was looked at, the server has it looked at again.
    private func widenSubscriptions(_ context: ChannelHandlerContext) {
        let isFull = widenings.count >= Self.mostWidenings
        while context.channel.isWritable, let next = widenings.first {
            guard subscriptions[next.subscription] != nil else {
                widenings.removeFirst()
                send(.failure(DefaultsError(.agentRefused, "The subscription has ended.")), to: next.number)
                continue
            }
            guard let (cursor, snapshots) = server.store.widen(&subscriptions[next.subscription], by: next.names) else {
                break
            }
            widenings.removeFirst()
            send(.widened(cursor), to: next.number)
            for snapshot in snapshots { send(.event(.initial(snapshot)), to: next.subscription) }
            send(.event(.bookmark(cursor)), to: next.subscription)
        }
        // More requests may be taken now; not from here, since that would call this again.
        if isFull, widenings.count < Self.mostWidenings {
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.eventLoop.execute { bound.value.takeRequests() }
        }
    }

    /// Sends the answers that no event is to come before.
    private func sendAnswers() {
        let reached = subscriptions.values.map(\.revision).min() ?? .max
        while let first = answers.first, first.cursor.revision <= reached {
            answers.removeFirst()
            send(first.message, to: first.number)
        }
    }

    /// Writes the next events of a subscription.
    ///
    /// - Returns: whether there may be more.
    private func writeNext(_ number: UInt64, _ context: ChannelHandlerContext) -> Bool {
        guard var subscription = subscriptions[number] else { return false }
        do throws(DefaultsError) {
            // Also where nothing is to be sent, it has moved on past what its filter leaves out.
            defer { subscriptions[number] = subscription.hasEnded ? nil : subscription }
            guard let frames = try server.next(for: &subscription, number) else { return false }
            // None at all are of a snapshot of nothing.
            if frames.readableBytes > 0 { context.write(wrapOutboundOut(frames), promise: nil) }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    private func send(_ message: Message, to number: UInt64) {
        guard let context else { return }
        do throws(DefaultsError) {
            let frame = try Frame.encode(NumberedMessage(number: number, message: message).fields)
            context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: frame)), promise: nil)
        } catch {
            fail(error)
        }
    }
}
