import CLinux
import DefaultsCore
import Glibc
import Linux
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The server on the agent's socket, which accepts connections from the agent's user and wakes their subscriptions.
///
/// Connections are confined to one event loop, which is also the engine's. Nothing on the loop waits for the disk,
/// except that it looks at files on fast file systems, and appends to the change log file without synchronizing it.
final class Server: Service, EngineSubscribers {
    let store: Store
    let engine: Engine
    let directory: PreferencesDirectory
    let address: AgentAddress
    /// The socket that a service manager has opened at the address, if any.
    private let inherited: InheritedSocket?
    let log: AgentLog
    let started = ContinuousClock.now
    private let eventLoop: any EventLoop
    /// The executor of the connections' tasks.
    let executor: EventLoopExecutor
    /// The open connections; accessed only on the event loop.
    let connections: NIOLoopBoundBox<[ObjectIdentifier: ConnectionHandler]>
    /// The frames shared by several connections; accessed only on the event loop.
    private let batches: NIOLoopBoundBox<SharedBatches>
    /// The maximum total size of all incomplete requests, in bytes.
    static let maximumBufferedBytes = 128 << 20
    private let listening = ForkSafeMutex(Listening.notYet)
    /// The problem of the socket that has been logged.
    private let loggedProblems = ForkSafeMutex(LoggedProblems())
    /// A function that ends a private agent; `nil` for an ordinary agent, which no client can end.
    private let end: @Sendable () -> Void
    /// Whether the agent was started only for the lifetime of another process, so that clients may end it.
    private let isPrivate: Bool
    /// Whether the agent ends with its last connection; accessed only on the event loop.
    private let endsWhenAlone: NIOLoopBoundBox<Bool>
    /// Whether `endIfAlone` will be called again soon.
    private let isEndScheduled: NIOLoopBoundBox<Bool>
    /// The number of permanently open files other than connections; set before the first connection.
    private let otherFiles = Atomic(0)
    private let currentSettings: ForkSafeMutex<AgentSettings>
    /// Whether a wake-up of the subscriptions is scheduled on the loop, since one wake-up serves many records.
    private let isWaking = Atomic(false)

    init(
        store: Store, engine: Engine, directory: PreferencesDirectory,
        address: AgentAddress, inherited: InheritedSocket?, settings: AgentSettings, log: AgentLog,
        isPrivate: Bool, on eventLoop: any EventLoop, end: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.engine = engine
        self.directory = directory
        self.address = address
        self.inherited = inherited
        self.log = log
        self.isPrivate = isPrivate
        self.end = end
        self.eventLoop = eventLoop
        executor = EventLoopExecutor(eventLoop)
        connections = .makeBoxSendingValue([:], eventLoop: eventLoop)
        batches = .makeBoxSendingValue(SharedBatches(), eventLoop: eventLoop)
        endsWhenAlone = .makeBoxSendingValue(false, eventLoop: eventLoop)
        isEndScheduled = .makeBoxSendingValue(false, eventLoop: eventLoop)
        currentSettings = ForkSafeMutex(settings)
    }

    /// A listening socket.
    private struct Listener {
        let channel: any Channel
        let file: SocketFile
        /// Whether the service manager owns the file, so that it stays after the agent's end.
        let isInherited: Bool
    }

    private enum Listening {
        case notYet
        case open(Listener)
        /// The agent is shutting down.
        case closed
    }

    var settings: AgentSettings { currentSettings.withLock { $0 } }

    /// The number of bytes received but not yet processed; accessed only on the event loop.
    var bufferedBytes: Int { connections.value.values.reduce(0) { $0 + $1.bufferedBytes } }

    /// Applies the connection limits of changed settings.
    func follow(_ settings: AgentSettings) {
        currentSettings.withLock { $0 = settings }
    }

    /// Starts accepting connections.
    ///
    /// Clients are accepted only once the agent knows everything that happened before they could find it. Until then,
    /// they use the files directly, and a client's saved edits must be visible to the next.
    func listen() async throws {
        // Add one for the listening socket.
        otherFiles.store(OpenFiles.inUse(below: OpenFiles.limit) + 1, ordering: .relaxed)
        let new = try await listener()
        listening.withLock { $0 = .open(new) }
    }

    /// Listens again if the socket's file was removed, so that clients find the agent.
    func listenAgain() async {
        guard case .open(let old) = listening.withLock({ $0 }), !old.file.isCurrent else { return }
        let new: Listener
        do {
            new = try await listener()
        } catch {
            if SocketFile.isServiceManaged(address.socketPath) {
                log.logger.notice("A service manager now listens on \(address.socketPath) and starts agents. Ending.")
                end()
                return
            }
            loggedProblems.withLock { _ = $0.log(["\(error)"], of: .socket, to: log.logger) }
            return
        }
        loggedProblems.withLock { $0.mark([String](), of: .socket) }
        let isOpen = listening.withLock { listening in
            guard case .open = listening else { return false }
            listening = .open(new)
            return true
        }
        if isOpen {
            log.logger.notice("The socket \(address.socketPath) was removed and has been created again.")
            try? await old.channel.close()
        } else {
            await close(new)
        }
    }

    /// Whether clients can find the socket; also true before the socket is created and during shutdown.
    var isFound: Bool {
        guard case .open(let listener) = listening.withLock({ $0 }) else { return true }
        return listener.file.isCurrent
    }

    private func listener() async throws -> Listener {
        let (socket, file, isInherited) = try openSocket()
        _ = await engine.synchronize([])
        do {
            // Pass NIO a socket that is already bound: when NIO closes a socket that it has bound itself, it removes
            // any file at the path.
            let channel = try await ServerBootstrap(group: eventLoop)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AcceptBackoff())
                    }
                }
                .childChannelInitializer { self.accept($0) }
                .withBoundSocket(socket).get()
            // NIO has set the queue's length to 128, even if told otherwise.
            _ = Glibc.listen(socket, SocketFile.queueLength)
            return Listener(channel: channel, file: file, isInherited: isInherited)
        } catch let error as IOError {
            if !isInherited { file.remove() }
            throw SocketFile.failure(at: address.socketPath, errno: error.errnoCode)
        }
    }

    /// Returns the inherited socket, or a new one if there is none or its file was removed.
    private func openSocket() throws(DefaultsError) -> (socket: Int32, file: SocketFile, isInherited: Bool) {
        let isFirst = listening.withLock { if case .notYet = $0 { true } else { false } }
        if isFirst, let inherited, let file = SocketFile(at: inherited.path), SocketFile.isInUse(inherited.path) {
            return (try inherited.duplicate(), file, true)
        }
        // `AgentClaims` keeps other agents away, but another program may be listening here, or a killed agent may have
        // left a file.
        try SocketFile.clear(address.socketPath)
        let (socket, file) = try SocketFile.listen(at: address.socketPath)
        return (socket, file, false)
    }

    /// Keeps the socket open until the agent shuts down; then closes it, answers all requests that clients have sent,
    /// and closes all connections.
    func run() async throws {
        await waitForEnd()
        let last = listening.withLock { listening in
            defer { listening = .closed }
            return listening
        }
        if case .open(let listener) = last {
            // Clients that have already connected to a socket of this agent are still served; those of the service
            // manager's are left to the next agent.
            if listener.isInherited { await close(listener) } else { listener.file.remove() }
        }
        await drainRequests()
        if case .open(let listener) = last, !listener.isInherited { try? await listener.channel.close() }
        await finishRequests()
        try await eventLoop.submit {
            for connection in self.connections.value.values { connection.close() }
        }.get()
    }

    private func close(_ listener: Listener) async {
        // Remove the file while the socket is still open, since until then no other file can get its inode number.
        if !listener.isInherited { listener.file.remove() }
        try? await listener.channel.close()
    }

    /// Waits until all received requests are answered, and clients have had time to follow up on their last answers.
    ///
    /// Counting unanswered requests isn't enough: a command makes an edit, and requests the save only after the answer.
    /// The wait is limited to about a second, since a client may never stop sending requests.
    private func drainRequests() async {
        let end = NIODeadline.now() + .seconds(1)
        // By the first check, everything that has arrived so far has been read, except from clients that don't read
        // answers.
        var nextCheck: NIODeadline? = .now() + Self.followUpTime
        while let time = nextCheck, time < end {
            nextCheck = try? await eventLoop.scheduleTask(deadline: time) { self.checkDrained() }.futureResult.get()
        }
    }

    /// The time after an answer for which a client may follow up on it.
    private static let followUpTime = TimeAmount.milliseconds(30)

    /// Returns the time of the next check, or `nil` if all requests are drained; called only on the event loop.
    private func checkDrained() -> NIODeadline? {
        let now = NIODeadline.now()
        let last = connections.value.values.map { $0.hasUnansweredRequests ? now : $0.lastAnswer }.max()
        return last.map { $0 + Self.followUpTime }.flatMap { $0 > now ? $0 : nil }
    }

    /// Reads and answers what clients have sent until now; from now on, they can't send anything.
    ///
    /// So no client takes for sent what this agent doesn't read, and no edit is made after its client has been told
    /// that the connection is lost. The wait for the disk is limited to five seconds, and that for clients that don't
    /// read answers to one.
    private func finishRequests() async {
        let start = NIODeadline.now()
        var isFinished = false
        while !isFinished {
            let check = eventLoop.scheduleTask(in: .milliseconds(2)) {
                let (connections, now) = (self.connections.value.values, NIODeadline.now())
                for connection in connections { connection.finishReading() }
                return !connections.contains {
                    now < start + .seconds($0.waitsForDisk ? 5 : 1) && $0.hasUnansweredRequests
                }
            }
            isFinished = (try? await check.futureResult.get()) ?? true
        }
    }

    // MARK: Shutdown of a private agent

    /// Ends a private agent so that another agent can take over.
    ///
    /// - Throws: `agentRefused` if this is an ordinary agent; `notSaved` if edits would be lost.
    func handOver() async throws(DefaultsError) {
        guard isPrivate else {
            throw DefaultsError(
                .agentRefused,
                "This agent was not started by `defaults tail` or `defaults bridge`, so it does not hand over.",
                remedy: "To stop it, send SIGTERM.")
        }
        if let problem = await engine.saveUnlogged() { throw problem }
        log.logger.info("Handing over to another agent.")
        end()
    }

    /// Ends a private agent once all clients have disconnected, because the process that started it has exited.
    ///
    /// May be called on any thread.
    func endWhenAlone() {
        eventLoop.execute {
            self.endsWhenAlone.value = true
            self.endIfAlone()
        }
    }

    /// Removes a closed connection; called only on the event loop.
    func remove(_ connection: ConnectionHandler) {
        connections.value[ObjectIdentifier(connection)] = nil
        endIfAlone()
    }

    private func endIfAlone() {
        guard endsWhenAlone.value, connections.value.isEmpty else { return }
        if store.unlogged().isEmpty { return end() }
        // The loss of edits would go unnoticed: the process that could have shown it has exited.
        guard !isEndScheduled.value else { return }
        isEndScheduled.value = true
        eventLoop.scheduleTask(in: .seconds(1)) {
            self.isEndScheduled.value = false
            self.endIfAlone()
        }
    }

    // MARK: Events

    /// Makes every subscription check for new records.
    ///
    /// May be called on any thread; frequent calls are cheap.
    func wake() {
        guard !isWaking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        eventLoop.execute { self.pumpIfNeeded() }
    }

    func sendNow() { pumpIfNeeded() }

    /// Sends new records to all subscriptions, except those of the connection that is being served, if any.
    ///
    /// Called only on the event loop. A connection that has made an edit calls this before it sends its answer. The
    /// answer then wakes a thread that is likely to get the processor on which the agent is running.
    func pumpIfNeeded(except served: ConnectionHandler? = nil) {
        guard isWaking.exchange(false, ordering: .acquiringAndReleasing) else { return }
        for connection in connections.value.values where connection !== served { connection.pump() }
    }

    /// Returns the frames of the next events of a subscription, or `nil` if it has caught up.
    ///
    /// Called only on the event loop.
    func next(for subscription: inout Subscription, number: UInt64) throws(DefaultsError) -> ByteBuffer? {
        let end = store.cursor
        // Most subscriptions that are woken have no events and can skip the lookup.
        if subscription.revision < end.revision,
            let shared = batches.value.next(for: &subscription, number: number, in: end.epoch)
        {
            return shared
        }
        let before = subscription
        let events = store.next(for: &subscription)
        if events.isEmpty { return nil }
        // Retain the frames for a short time, during which all but slow subscribers fetch them.
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
            frames.writeBytes(try Frame.encode(NumberedMessage(number: number, message: .event(event)).fields))
        }
        batches.value.store(frames, of: events, for: before, number: number, until: subscription)
        return frames
    }

    /// Accepts connections only from the agent's own user and root.
    private func accept(_ channel: any Channel) -> EventLoopFuture<Void> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        // `linux_peer` has the layout of the kernel's ucred.
        let peer: EventLoopFuture<linux_peer> = options.unsafeGetSocketOption(
            level: .socket, name: .init(rawValue: SO_PEERCRED))
        return peer.flatMapThrowing { peer in
            let refusal: String? =
                if peer.uid != geteuid(), peer.uid != 0 {
                    "This agent serves only user \(geteuid()), not user \(peer.uid)."
                } else if self.connections.value.count >= self.settings.maximumConnections {
                    "The agent already has \(self.connections.value.count) connections, the maximum. To raise it, set "
                        + "MaximumConnections."
                } else if self.connections.value.count
                    >= OpenFiles.connections(beside: self.otherFiles.load(ordering: .relaxed))
                {
                    "The agent already has \(self.connections.value.count) connections, as many as its limit of "
                        + "\(OpenFiles.limit) open files allows. Raise it (ulimit -Hn, or LimitNOFILE= of a service)."
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
