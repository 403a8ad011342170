import DefaultsCore
import Glibc
import Logging
import NIOCore
import NIOPosix

/// The handler of one connection, which reads and answers requests, and sends the events of subscriptions.
///
/// Confined to the server's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The identity of the client, from the socket's credentials.
    let app: AppIdentity
    /// The subscriptions, by the numbers of the requests that started them.
    private(set) var subscriptions: [UInt64: Subscription] = [:]
    private let server: Server
    private let refusal: DefaultsError?
    private var decoder = FrameDecoder(limits: Frame.requestLimits)
    private var hasGreeted = false
    /// The version of the client's library, if it has sent one.
    private(set) var clientVersion: String?
    /// Whether `pump` is running, and whether it was called again since its last pass.
    private var isPumping = false
    private var isWanted = false
    /// Answers that refer to a cursor, oldest first.
    ///
    /// Each answer is held back until the subscriptions have been sent all events up to its cursor.
    private var answers: CircularBuffer<(cursor: Cursor, message: Message, number: UInt64)> = []
    /// The `widen` requests that wait for their subscriptions to catch up, oldest first.
    private var widenings: CircularBuffer<Widening> = []
    private static let maximumWidenings = 64
    /// The number of `synchronize` requests that wait for the disk.
    private var barriers = 0
    private static let maximumBarriers = 64
    /// The size in bytes up to which a request is accepted, however much other clients have sent.
    private static let smallRequest = 1 << 20
    /// The number of bytes received but not yet processed.
    var bufferedBytes: Int { decoder.bufferedBytes }
    /// Whether an edit waits for the disk; later requests must not overtake it.
    private var isEditing = false
    /// Whether all requests have been read, because the agent is ending.
    private var hasFinishedReading = false
    /// The time at which the last answer was sent, or, before the first, the connection was accepted.
    private(set) var lastAnswer = NIODeadline.now()
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
        if decoder.bufferedBytes > Self.smallRequest, server.bufferedBytes > Server.maximumBufferedBytes {
            fail(
                DefaultsError(
                    .agentRefused,
                    "The agent holds \(server.bufferedBytes) bytes of unfinished requests.",
                    remedy: "Send smaller ones, or retry later.")
            )
            return
        }
        serveRequests()
    }

    /// Answers received requests as long as the client reads the answers, so that nothing piles up for a client that
    /// doesn't.
    private func serveRequests() {
        do throws(DefaultsError) {
            while mayServeRequests, let fields = try decoder.next() {
                let number = (try? fields.unsigned("request")) ?? 0
                do throws(DefaultsError) {
                    try answer(NumberedRequest(fields, from: app))
                } catch {
                    // An invalid request is answered with an error. Without a number, or before the greeting, it ends
                    // the connection.
                    if number == 0 || !hasGreeted { throw error }
                    send(.failure(error), to: number)
                }
            }
        } catch {
            fail(error)
        }
        context?.channel.setOption(.autoRead, value: mayServeRequests).whenFailure { _ in }
        server.pumpIfNeeded(except: self)
        pump()
    }

    private var mayServeRequests: Bool {
        context.map { $0.channel.isWritable || hasFinishedReading } == true && barriers < Self.maximumBarriers
            && widenings.count < Self.maximumWidenings && !isEditing
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        serveRequests()
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The peer is gone.
        context.close(promise: nil)
    }

    /// Whether any received request is unanswered; one that is incomplete counts as long as the rest may arrive.
    var hasUnansweredRequests: Bool {
        bufferedBytes > 0 && !hasFinishedReading || waitsForDisk || !answers.isEmpty || !widenings.isEmpty
    }

    /// Whether a received request waits for the disk.
    var waitsForDisk: Bool { isEditing || barriers > 0 }

    /// Reads and serves what the client has sent, and makes its further attempts to send fail.
    ///
    /// The channel itself can't be told to, since it would discard what has arrived. If its socket isn't available, the
    /// connection ends as if nothing more had arrived, and a client that still runs sends the rest to the next agent.
    func finishReading() {
        guard let context, !hasFinishedReading else { return }
        hasFinishedReading = true
        // The channel must stay open for answers.
        try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            Glibc.shutdown(socket, Int32(SHUT_RD))
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
                decoder.append(buffer[..<count])
            }
        }
        serveRequests()
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
        if case .hello(let versions, let client, let version) = numbered.request {
            try greet(versions: versions, client: client, number: number)
            clientVersion = version
            return
        }
        guard hasGreeted else {
            throw DefaultsError(.protocolViolation, "The first message must be \"hello\".")
        }
        switch numbered.request {
        case .hello: break
        case .read(let domain, let keys): send(.values(server.store.snapshot(of: domain).only(keys)), to: number)
        case .domains: send(.domains(server.store.domains()), to: number)
        case .edit(let edit) where edit.expecting != nil: applyConditionally(edit, answering: number)
        case .edit(let edit) where server.store.mustSave(edit): applyAndSave(edit, answering: number)
        case .edit(let edit):
            do throws(DefaultsError) {
                confirm(try server.store.submit(edit), to: number)
            } catch {
                guard error.code == .damaged else { throw error }
                submitAfterReading(edit, answering: number)
            }
        case .synchronize(let domains): synchronize(domains, answering: number)
        case .subscribe(let start, let filter, let mode):
            try subscribe(start, filter: filter, mode: mode, number: number)
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
        case .history(let request):
            try SubscriptionLimits.check(request.filter, beside: subscriptions.values)
            send(.history(try server.store.history(request)), to: number)
        case .status: send(.status(StatusReport.fields(of: server)), to: number)
        case .handOver: handOver(number)
        }
    }

    private func greet(versions: ClosedRange<Int64>, client: String, number: UInt64) throws(DefaultsError) {
        let ours = Request.protocolVersions
        guard ours.overlaps(versions) else {
            throw DefaultsError(
                .protocolViolation,
                "This agent (\(Version.current)) speaks versions \(ours.lowerBound) to \(ours.upperBound) of the "
                    + "protocol, but \(client) speaks version \(versions.lowerBound).",
                remedy: "Upgrade the older of the two.")
        }
        hasGreeted = true
        let welcome = Welcome(
            pid: Int64(AppIdentity.current.pid), directory: server.directory.path, system: server.store.system,
            cursor: server.store.cursor, protocolVersion: min(versions.upperBound, ours.upperBound))
        send(.welcome(welcome), to: number)
    }

    /// Ends the agent, unless it would lose edits.
    private func handOver(_ number: UInt64) {
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        Task(executorPreference: server.executor) {
            do throws(DefaultsError) {
                try await bound.value.server.handOver()
                bound.value.send(.handingOver, to: number)
            } catch {
                bound.value.send(.failure(error), to: number)
            }
            bound.value.context?.flush()
        }
    }

    /// Passes a conditional edit to the engine, which applies it under the file's lock.
    private func applyConditionally(_ edit: EditRequest, answering number: UInt64) {
        let engine = server.engine
        confirmLater(number) { () async throws(DefaultsError) in try await engine.commit(edit) }
    }

    /// Passes an edit to the engine that is lost in a crash until it is saved, since the change log can't hold it.
    private func applyAndSave(_ edit: EditRequest, answering number: UInt64) {
        let engine = server.engine
        confirmLater(number) { () async throws(DefaultsError) in try await engine.commitOrSubmit(edit) }
    }

    /// Applies an edit again after reading its file, which may just have been repaired.
    private func submitAfterReading(_ edit: EditRequest, answering number: UInt64) {
        let (engine, store) = (server.engine, server.store)
        confirmLater(number) { () async throws(DefaultsError) in
            _ = await engine.synchronize([edit.domain])
            return try store.submit(edit)
        }
    }

    /// Makes an edit that waits for the disk, and serves no other request until it is made.
    private func confirmLater(
        _ number: UInt64, _ edit: @escaping @Sendable () async throws(DefaultsError) -> Cursor
    ) {
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        isEditing = true
        Task(executorPreference: server.executor) {
            do throws(DefaultsError) {
                bound.value.confirm(try await edit(), to: number)
            } catch {
                // Send the answer after the changes that made a condition fail, so that the client has them when it
                // retries.
                bound.value.answers.append((bound.value.server.store.cursor, .failure(error), number))
            }
            bound.value.isEditing = false
            bound.value.serveRequests()
        }
    }

    private func confirm(_ cursor: Cursor, to number: UInt64) {
        answers.append((cursor, .edited(cursor), number))
    }

    private func synchronize(_ domains: Set<Domain>?, answering number: UInt64) {
        guard let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        barriers += 1
        let engine = server.engine
        Task(executorPreference: server.executor) {
            let (cursor, failures) = await engine.synchronize(domains)
            bound.value.barriers -= 1
            bound.value.answers.append((cursor, .synchronized(cursor, failures: failures), number))
            bound.value.serveRequests()
        }
    }

    private func subscribe(
        _ start: Subscription.Start, filter: SubscriptionFilter, mode: Subscription.Mode, number: UInt64
    ) throws(DefaultsError) {
        guard subscriptions[number] == nil else {
            throw DefaultsError(.agentRefused, "Subscription \(number) exists already.")
        }
        guard subscriptions.count < server.settings.maximumSubscriptions else {
            throw DefaultsError(
                .agentRefused,
                "The connection already has \(subscriptions.count) subscriptions, the maximum.",
                remedy: "To raise it, set MaximumSubscriptions.")
        }
        try SubscriptionLimits.check(filter, beside: subscriptions.values)
        let subscription = server.store.subscribe(start, filter: filter, mode: mode)
        subscriptions[number] = subscription
        send(.subscribed(subscription.beginning), to: number)
    }

    /// Checks that a subscription exists.
    private func check(_ number: UInt64) throws(DefaultsError) {
        guard subscriptions[number] != nil else {
            throw DefaultsError(.agentRefused, "There is no subscription \(number).")
        }
    }

    // MARK: Sending

    /// Sends as many of the subscriptions' pending events as the connection accepts.
    ///
    /// Writing and flushing may change whether the connection is writable, which calls this function again. The nested
    /// call leaves the work to the outer one, so that events stay in order.
    func pump() {
        isWanted = true
        guard let context, !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while isWanted {
            isWanted = false
            for number in subscriptions.keys {
                while context.channel.isWritable, writeNext(of: number, to: context) { isWanted = true }
            }
            widenSubscriptions(context)
            sendAnswers()
            context.flush()
        }
    }

    /// Answers the `widen` requests whose subscriptions have caught up, oldest first.
    ///
    /// The answer, the values and the bookmark are sent together, so that no other event comes between them. If a
    /// record has been published since the subscription was checked, the server wakes it again.
    private func widenSubscriptions(_ context: ChannelHandlerContext) {
        let isFull = widenings.count >= Self.maximumWidenings
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
            for event in StreamEvent.initial(snapshots) { send(.event(event), to: next.subscription) }
            send(.event(.bookmark(cursor)), to: next.subscription)
        }
        // More requests may be accepted now, but not from here, since that would call this function again.
        if isFull, widenings.count < Self.maximumWidenings {
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.eventLoop.execute { bound.value.serveRequests() }
        }
    }

    /// Sends the answers whose events have all been sent.
    private func sendAnswers() {
        let reached = subscriptions.values.map(\.revision).min() ?? .max
        while let first = answers.first, first.cursor.revision <= reached {
            answers.removeFirst()
            send(first.message, to: first.number)
        }
    }

    /// Writes the next events of a subscription.
    ///
    /// - Returns: Whether there may be more events.
    private func writeNext(of number: UInt64, to context: ChannelHandlerContext) -> Bool {
        guard var subscription = subscriptions[number] else { return false }
        do throws(DefaultsError) {
            // Even if nothing is sent, the subscription has moved past records that don't pass its filter.
            defer { subscriptions[number] = subscription.hasEnded ? nil : subscription }
            guard let frames = try server.next(for: &subscription, number: number) else { return false }
            context.write(wrapOutboundOut(frames), promise: nil)
            return true
        } catch {
            fail(error)
            return false
        }
    }

    private func send(_ message: Message, to number: UInt64) {
        guard let context else { return }
        lastAnswer = .now()
        do throws(DefaultsError) {
            let frame = try Frame.encode(NumberedMessage(number: number, message: message).fields)
            context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: frame)), promise: nil)
        } catch {
            fail(error)
        }
    }
}
