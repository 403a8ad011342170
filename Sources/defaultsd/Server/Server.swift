import CLinux
import DefaultsCore
import DirectoryWatcher
import Glibc
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The agent's socket: takes connections of its user, and wakes their subscriptions.
///
/// Connections live on one event loop; nothing there waits for the disk, but for the log's file where the socket, and so the
/// log, isn't in memory.
final class Server: Service {
    let store: Store
    let engine: Engine
    let watcher: DirectoryWatcher
    let directory: PreferencesDirectory
    let address: AgentAddress
    let log: AgentLog
    let started = ContinuousClock.now
    private let eventLoop: any EventLoop
    /// Where connections' tasks run.
    let executor: LoopExecutor
    /// The connections that are open; touched on the event loop alone.
    let connections: NIOLoopBoundBox<[ObjectIdentifier: ConnectionHandler]>
    /// What several of them get; touched on the event loop alone.
    private let batches: NIOLoopBoundBox<SharedBatches>
    /// So many bytes of requests that haven't all come yet are kept, of all connections together.
    static let mostWaitingBytes = 128 << 20
    private let listening = Mutex(Listening.notYet)
    /// Why the socket can't be had again, as it was logged.
    private let obstacle = Mutex<String?>(nil)
    /// Ends a private agent; `nil` for an ordinary one, which no client can end.
    private let ending: (@Sendable () -> Void)?
    /// Whether the agent ends with its last connection; touched on the event loop alone.
    private let endsWhenAlone: NIOLoopBoundBox<Bool>
    /// How many files are open beside the connections, as long as the agent runs; set before the first connection.
    private let otherFiles = Atomic(0)
    private let currentSettings: Mutex<AgentSettings>
    /// Whether the loop has been asked to wake the subscriptions and hasn't yet: one request stands for many records.
    private let isWaking = Atomic(false)

    init(
        store: Store, engine: Engine, watcher: DirectoryWatcher, directory: PreferencesDirectory,
        address: AgentAddress, settings: AgentSettings, log: AgentLog, ending: (@Sendable () -> Void)?
    ) {
        self.store = store
        self.engine = engine
        self.watcher = watcher
        self.directory = directory
        self.address = address
        self.log = log
        self.ending = ending
        eventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
        executor = LoopExecutor(eventLoop)
        connections = .makeBoxSendingValue([:], eventLoop: eventLoop)
        batches = .makeBoxSendingValue(SharedBatches(), eventLoop: eventLoop)
        endsWhenAlone = .makeBoxSendingValue(false, eventLoop: eventLoop)
        currentSettings = Mutex(settings)
    }

    /// A socket that is listened to.
    private struct Listener {
        let channel: any Channel
        let file: SocketFile
    }

    private enum Listening {
        case notYet
        case open(Listener)
        /// The agent is about to end.
        case closed
    }

    var settings: AgentSettings { currentSettings.withLock { $0 } }

    /// How many bytes came that aren't answered yet; asked on the event loop alone.
    var waitingBytes: Int { connections.value.values.reduce(0) { $0 + $1.waitingBytes } }

    /// Takes the limits of connections from changed settings.
    func follow(_ settings: AgentSettings) {
        currentSettings.withLock { $0 = settings }
    }

    /// Begins to take connections.
    ///
    /// Clients are let in once all is known that happened before they could find the agent: until then they work on the
    /// files, and what one of them has saved the next one is to see.
    func listen() async throws {
        // One more is the listening socket.
        otherFiles.store(OpenFiles.inUse(below: OpenFiles.limit) + 1, ordering: .relaxed)
        let new = try await listener()
        listening.withLock { $0 = .open(new) }
    }

    /// Listens again if someone has removed the socket's file, so that clients find the agent.
    func listenAgain() async {
        guard case .open(let old) = listening.withLock({ $0 }), !old.file.isCurrent else { return }
        let new: Listener
        do {
            new = try await listener()
        } catch {
            let text = "\(error)"
            let isNews = obstacle.withLock { old in
                defer { old = text }
                return old != text
            }
            if isNews { log.logger.warning("\(text)") }
            return
        }
        obstacle.withLock { $0 = nil }
        let isOpen = listening.withLock { listening in
            guard case .open = listening else { return false }
            listening = .open(new)
            return true
        }
        if isOpen {
            log.logger.notice("The socket \(address.socketPath) was removed, and is there again.")
            try? await old.channel.close()
        } else {
            await close(new)
        }
    }

    /// Whether clients find the socket; also so before it is made, and once the agent is about to end.
    var isFound: Bool {
        guard case .open(let listener) = listening.withLock({ $0 }) else { return true }
        return listener.file.isCurrent
    }

    private func listener() async throws -> Listener {
        // No agent listens here while `AgentClaims` holds. Another program may, or what a killed agent left is there.
        try SocketFile.clear(address.socketPath)
        let (socket, file) = try SocketFile.listen(at: address.socketPath)
        await withCheckedContinuation { continuation in
            engine.synchronize([]) { _, _ in continuation.resume() }
        }
        do {
            // Bound already, since NIO would remove whatever has its path when it closes a socket that it has bound.
            let channel = try await ServerBootstrap(group: eventLoop)
                .serverChannelOption(.backlog, value: SocketFile.queueLength)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AcceptPause())
                    }
                }
                .childChannelInitializer { self.accept($0) }
                .withBoundSocket(socket).get()
            return Listener(channel: channel, file: file)
        } catch let error as IOError {
            file.remove()
            throw SocketFile.failure(address.socketPath, error.errnoCode)
        }
    }

    /// Keeps the socket until the agent is to end; then closes it and, once they have their answers, every connection.
    func run() async throws {
        await waitForEnd()
        let last = listening.withLock { listening in
            defer { listening = .closed }
            return listening
        }
        if case .open(let listener) = last { await close(listener) }
        await answerWhatWasAsked()
        try await eventLoop.submit {
            for connection in self.connections.value.values { connection.close() }
        }.get()
    }

    private func close(_ listener: Listener) async {
        // While it still listens: as long as the socket is open, no other file has the inode's number.
        listener.file.remove()
        try? await listener.channel.close()
    }

    /// Waits until nobody has asked anything for a moment, in which who has made an edit may ask for it to be saved; a second
    /// at most, since there may be one who never stops asking.
    private func answerWhatWasAsked() async {
        let end = ContinuousClock.now + .seconds(1)
        var quietSince: ContinuousClock.Instant?
        while .now < end {
            let isQuiet = try? await eventLoop.submit {
                self.connections.value.values.allSatisfy { $0.hasAnsweredAll() }
            }.get()
            if isQuiet != true { quietSince = nil }
            if let quietSince, quietSince + .milliseconds(30) <= .now { return }
            if isQuiet == true, quietSince == nil { quietSince = .now }
            // Not `Task.sleep`, whose timers are Dispatch's: see `waitForEnd`.
            try? await eventLoop.scheduleTask(in: .milliseconds(10)) {}.futureResult.get()
        }
    }

    // MARK: The end of a private agent

    /// Ends a private agent, whose place another takes.
    ///
    /// - Throws: `agentRefused` in an ordinary one.
    func handOver() throws(DefaultsError) {
        guard let ending else {
            throw DefaultsError(
                .agentRefused,
                "This agent was not started by `defaults tail`, so it does not hand over. To stop it, send SIGTERM.")
        }
        log.logger.info("Handing over to another agent.")
        ending()
    }

    /// Ends a private agent once nobody is connected, now that what it was started for has ended.
    ///
    /// May be called on any thread.
    func endWhenAlone() {
        eventLoop.execute {
            self.endsWhenAlone.value = true
            self.endIfAlone()
        }
    }

    /// Takes note that a connection has gone; called on the event loop alone.
    func remove(_ connection: ConnectionHandler) {
        connections.value[ObjectIdentifier(connection)] = nil
        endIfAlone()
    }

    private func endIfAlone() {
        if endsWhenAlone.value, connections.value.isEmpty { ending?() }
    }

    // MARK: Events

    /// Has every subscription look for records.
    ///
    /// May be called on any thread, as often as one likes.
    func wake() {
        guard !isWaking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        eventLoop.execute {
            self.isWaking.store(false, ordering: .releasing)
            for connection in self.connections.value.values { connection.pump() }
        }
    }

    /// The frames of what comes next for a subscription; `nil` when it is caught up.
    ///
    /// Called on the event loop alone.
    func next(for subscription: inout Subscription, _ number: UInt64) throws(DefaultsError) -> ByteBuffer? {
        let end = store.cursor
        // Most of those that are woken have nothing to get, and need not be looked up.
        if subscription.revision < end.revision,
            let shared = batches.value.next(for: &subscription, number, in: end.epoch)
        {
            return shared
        }
        let before = subscription
        let (events, snapshots) = store.next(for: &subscription)
        if events.isEmpty { return nil }
        // Kept for a moment, in which all but those that are slow get them.
        let isFirst = batches.value.isEmpty
        defer {
            if isFirst, !batches.value.isEmpty {
                eventLoop.scheduleTask(in: .milliseconds(200)) { self.batches.value.removeAll() }
            }
        }
        var frames = ByteBuffer()
        for event in events {
            if case .record(let record, let cursor) = event, subscription.getsWholeRecords {
                frames.writeBytes(try batches.value.frame(of: record, at: cursor, number))
                continue
            }
            for event in event.streamed(snapshots) {
                frames.writeBytes(try Frame.encode(NumberedMessage(number: number, message: .event(event)).fields))
            }
        }
        batches.value.keep(frames, of: events, for: before, number, until: subscription)
        return frames
    }

    /// Lets in a connection of the agent's own user, or of root, and no other.
    private func accept(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        // `linux_peer` is laid out as the kernel's ucred.
        let peer: EventLoopFuture<linux_peer> = options.unsafeGetSocketOption(
            level: .socket, name: .init(rawValue: SO_PEERCRED))
        return peer.flatMapThrowing { peer in
            let refusal: String? =
                if peer.uid != geteuid(), peer.uid != 0 {
                    "This agent serves the user with the number \(geteuid()), not \(peer.uid)."
                } else if self.connections.value.count >= self.settings.maximumConnections {
                    "The agent has \(self.connections.value.count) connections, its setting MaximumConnections."
                } else if self.connections.value.count
                    >= OpenFiles.connections(beside: self.otherFiles.load(ordering: .relaxed))
                {
                    "The agent has \(self.connections.value.count) connections, as many as its limit of "
                        + "\(OpenFiles.limit) open files allows: raise it (ulimit -Hn, or LimitNOFILE= of a service)."
                } else {
                    nil
                }
            let handler = ConnectionHandler(
                of: AppIdentity(pid: peer.pid), server: self,
                refusal: refusal.map { DefaultsError(.agentRefused, $0) })
            try channel.pipeline.syncOperations.addHandler(handler)
        }
    }
}

extension SubscriptionEvent {
    /// What is sent of it: one event, or the snapshots whose place it is.
    fileprivate func streamed(_ snapshots: [DomainSnapshot]) -> [StreamEvent] {
        switch self {
        case .record(let record, let cursor): [.record(record, cursor: cursor)]
        case .gap(let from, let to): [.gap(from: from, to: to)]
        case .snapshotDue: snapshots.map { .initial($0) }
        case .bookmark(let cursor): [.bookmark(cursor)]
        case .ended: [.ended]
        }
    }
}
