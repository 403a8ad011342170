package import DefaultsCore
import Glibc
import PropertyList

/// A connection to the agent, for one thread: each call sends a request and waits for its answer.
///
/// Events of subscriptions that come meanwhile are kept for `nextEvent`.
package final class AgentConnection: Backend {
    /// What the agent said of itself.
    package struct Welcome: Sendable {
        package var pid: Int64
        package var directory: String
        /// The directories of the system's that it watches.
        package var system: SystemDirectories
        package var cursor: Cursor
    }

    /// Who answers.
    package private(set) var welcome: Welcome
    /// The agent's process as the kernel has it here; in a namespace of its own the agent may know another number.
    private let pid: Int64
    private var socket: AgentSocket
    /// The number of the last request.
    private(set) var lastNumber: UInt64 = 0
    /// The number of the subscription; what comes for any other is dropped, since an agent may send for ever.
    private var subscription: UInt64?
    // A slice drops its first element without moving the others.
    private var events: ArraySlice<StreamEvent> = []

    /// The messages that came before the agent's last word, which was looked for first.
    private var passedOver: ArraySlice<NumberedMessage> = []

    /// How long the agent may take to answer.
    let patience: AgentPatience
    /// How long it may take to save: its disk, or who writes to a file, may be slow.
    private static let patienceOfDisk: Int64 = 30_000

    /// The time for a program that listens at the usual socket without the lock that an agent has on it.
    private static let patienceWithOthers = AgentPatience(250)

    /// Connects to the agent of a directory.
    ///
    /// Unless someone has named the socket, it may be another program that listens there; that is passed over. So is an agent
    /// looked for where the directory's claim says that it listens: it may have another runtime directory, or have been
    /// started when the directory had another path.
    ///
    /// - Parameters:
    ///   - address: where it listens.
    ///   - directory: the directory that it must keep.
    ///   - patience: how long it may take to answer a request.
    /// - Returns: `nil` when none answers there.
    /// - Throws: when what answers isn't to be trusted, speaks another protocol, or keeps another directory.
    package static func open(
        _ address: AgentAddress, for directory: PreferencesDirectory, patience: AgentPatience = .usual
    ) throws(DefaultsError) -> AgentConnection? {
        if address.isExplicit || AgentClaim.isHeld(onSocketOf: address) {
            if let connection = try connect(to: address, for: directory, patience, greeting: patience) {
                return connection
            }
        } else if let connection = try? connect(to: address, for: directory, patience, greeting: patienceWithOthers) {
            return connection
        }
        guard !address.isExplicit, let holder = AgentClaim.holder(ofDirectory: directory),
            holder.socketPath != address.socketPath
        else { return nil }
        do throws(DefaultsError) {
            return try connect(to: AgentAddress(of: holder), for: directory, patience, greeting: patience)
        } catch {
            // It is there, and doesn't answer: whoever asks again and again must know.
            if error.isOfSilence { throw error }
            return nil
        }
    }

    private static func connect(
        to address: AgentAddress, for directory: PreferencesDirectory, _ patience: AgentPatience,
        greeting: AgentPatience
    ) throws(DefaultsError) -> AgentConnection? {
        let greeting = AgentPatience(
            stopped: min(greeting.stopped, patience.stopped), busy: min(greeting.busy, patience.busy))
        guard let socket = try UnixSocket.connect(to: address, patience: greeting.stopped) else { return nil }
        let connection = AgentConnection(socket, patience: patience)
        try connection.greet(directory, address, within: greeting)
        return connection
    }

    private init(_ socket: consuming FileDescriptor, patience: AgentPatience) {
        self.patience = patience
        pid = SocketPeer(of: socket).map { Int64($0.pid) } ?? 0
        self.socket = AgentSocket(socket)
        self.welcome = Welcome(
            pid: pid, directory: "", system: .none, cursor: Cursor(epoch: Epoch(value: 0), revision: 0))
    }

    private func greet(
        _ directory: PreferencesDirectory, _ address: AgentAddress, within patience: AgentPatience
    ) throws(DefaultsError) {
        let request = Request.hello(
            protocolVersion: Request.protocolVersion, client: AppIdentity.current.executable)
        guard case .welcome(_, let ownPID, let path, let system, let cursor) = try answer(to: request, within: patience)
        else {
            throw Self.unexpected("hello")
        }
        let pid = pid > 0 ? pid : ownPID
        guard PreferencesDirectory(path: path).isSame(as: directory) else {
            throw DefaultsError(
                .agentRefused,
                "The agent at \(address.socketPath) (pid \(pid)) keeps \(path), not \(directory.path); "
                    + "name another socket with --socket, or another directory with --directory.")
        }
        welcome = Welcome(pid: pid, directory: path, system: system, cursor: cursor)
    }

    // MARK: Requests

    package var system: SystemDirectories { welcome.system }

    package func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot {
        guard case .values(let snapshot) = try answer(to: .read(domain)) else { throw Self.unexpected("read") }
        return snapshot
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        guard case .domains(let domains) = try answer(to: .domains) else { throw Self.unexpected("domains") }
        return domains
    }

    package func edit(
        _ domain: Domain, _ values: Difference, replacesAll: Bool, expecting expected: Difference?
    ) throws(DefaultsError) {
        let edit = EditRequest(
            domain: domain, values: values, replacesAll: replacesAll, writer: .app(.current), expecting: expected)
        do throws(DefaultsError) {
            guard case .edited = try answer(to: .edit(edit)) else { throw Self.unexpected("edit") }
        } catch {
            guard error.code == .agentUnavailable else { throw error }
            throw DefaultsError(
                .agentUnavailable, "\(error) The edit was sent and may have been made: read before you try again.",
                errno: error.errno)
        }
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        if let failure = try barrier([domain]).failures.first { throw failure }
    }

    /// Returns when all that happened before, in the agent and in the directory, is in the log and durable.
    ///
    /// - Parameter domains: whose edits are to be durable; all domains' if left out.
    /// - Returns: where the log ends then, and what couldn't be saved.
    /// - Throws: `agentUnavailable` when the connection is lost.
    package func barrier(
        _ domains: Set<Domain>? = nil
    ) throws(DefaultsError) -> (cursor: Cursor, failures: [DefaultsError]) {
        let patience = AgentPatience(stopped: max(patience.stopped, Self.patienceOfDisk), busy: patience.busy)
        guard
            case .synchronized(let cursor, let failures) = try answer(to: .synchronize(domains), within: patience)
        else {
            throw Self.unexpected("synchronize")
        }
        return (cursor, failures)
    }

    /// What the agent says of how it does: the content of `defaults status --json`.
    ///
    /// Its process has the number that it has here. Where it has none, `pid` is left out; `ownPID` is the number in the
    /// agent's own namespace, where that is another one.
    package func status() throws(DefaultsError) -> DomainValues {
        guard case .status(var status) = try answer(to: .status) else { throw Self.unexpected("status") }
        let own = status["pid"]
        guard own != .integer(pid) else { return status }
        status["ownPID"] = own
        status["pid"] = pid > 0 ? .integer(pid) : nil
        return status
    }

    /// Begins a stream of events, which `nextEvent` hands out.
    ///
    /// A connection has one.
    ///
    /// - Returns: the place after which the stream begins.
    package func subscribe(
        _ start: Subscription.Start, filter: SubscriptionFilter, mode: Subscription.Mode
    ) throws(DefaultsError) -> Cursor {
        subscription = lastNumber + 1
        guard case .subscribed(let cursor) = try answer(to: .subscribe(start, filter, mode)) else {
            throw Self.unexpected("subscribe")
        }
        return cursor
    }

    // MARK: Events

    /// Waits for the next event of the subscription.
    ///
    /// - Parameters:
    ///   - milliseconds: how long to wait, -1 for ever.
    ///   - output: a descriptor whose closing by its reader ends the wait.
    /// - Returns: `nil` when the time is over, or nobody reads the output any more.
    /// - Throws: `agentUnavailable` when the connection is lost.
    package func nextEvent(
        within milliseconds: Int32, whileReading output: Int32 = -1
    ) throws(DefaultsError) -> StreamEvent? {
        let end = MonotonicTime.now() + Int64(milliseconds)
        while events.isEmpty {
            if let message = try socket.next() {
                keep(message)
                continue
            }
            let left = milliseconds < 0 ? -1 : end.left
            if try !receive(within: left, whileReading: output) { return nil }
        }
        return events.removeFirst()
    }

    /// Waits for the next event of a subscription that has one.
    ///
    /// - Parameter patience: how long the agent may take.
    /// - Returns: the event.
    /// - Throws: `agentUnavailable` when it is silent, or the connection is lost.
    func nextEvent(within patience: AgentPatience) throws(DefaultsError) -> StreamEvent {
        let start = MonotonicTime.now()
        while events.isEmpty {
            guard start + patience.busy > .now() else { throw silence(of: patience.busy) }
            if let message = try socket.next() { keep(message) } else { try receive(since: start, patience) }
        }
        return events.removeFirst()
    }

    /// Drops the events that have come, once their stream has ended.
    func forgetEvents() {
        events = []
        subscription = nil
    }

    private func keep(_ message: NumberedMessage) {
        if case .event(let event) = message.message, message.number == subscription { events.append(event) }
    }

    // MARK: Messages

    /// Sends a request without waiting for its answer, which is passed over by the calls that wait for others'.
    ///
    /// - Returns: the request's number.
    /// - Throws: `agentUnavailable` when the connection is lost, or what the agent said at last.
    @discardableResult
    package func send(_ request: Request) throws(DefaultsError) -> UInt64 {
        lastNumber += 1
        do throws(DefaultsError) {
            try socket.send(NumberedRequest(number: lastNumber, request: request))
        } catch {
            // Nothing was sent.
            if error.code == .invalidValue { throw error }
            // An agent that refuses a connection says why and closes it, perhaps before it was asked anything.
            throw farewell() ?? error
        }
        return lastNumber
    }

    /// What to wait for with `poll`, for who calls `flush`, `receive` and `nextMessage`, which don't wait.
    var awaited: pollfd { socket.awaited }

    /// Sends what still waits, as far as the agent takes it now.
    func flush() throws(DefaultsError) { try socket.flush() }

    /// Takes bytes that have come; false when none have.
    func receive() throws(DefaultsError) -> Bool { try socket.receive() }

    /// The next message that has come, whatever it is.
    func nextMessage() throws(DefaultsError) -> NumberedMessage? {
        passedOver.isEmpty ? try socket.next() : passedOver.removeFirst()
    }

    /// Sends a request and waits for its answer.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - patience: how long the agent may take; as long as for any other if left out.
    /// - Returns: the answer.
    /// - Throws: what the agent refuses it with, or that it is silent or gone.
    func answer(to request: Request, within patience: AgentPatience? = nil) throws(DefaultsError) -> Message {
        let patience = patience ?? self.patience
        try send(request)
        let start = MonotonicTime.now()
        while true {
            // What comes all the time need not be the answer.
            guard start + patience.busy > .now() else { throw silence(of: patience.busy) }
            guard let message = try socket.next() else {
                try receive(since: start, patience)
                continue
            }
            if case .event = message.message {
                keep(message)
            } else if message.number == lastNumber || message.number == 0 {
                if case .failure(let error) = message.message { throw error }
                return message.message
            }
        }
    }

    /// What the agent said at last on a connection that it has closed.
    private func farewell() -> DefaultsError? {
        while true {
            if let message = try? socket.next() {
                if case .failure(let error) = message.message, message.number == 0 { return error }
                passedOver.append(message)
            } else if (try? socket.receive()) != true {
                return nil
            }
        }
    }

    /// Waits for bytes and takes them, and sends what still waits.
    ///
    /// - Returns: false when the time is over, or nobody reads the output any more.
    private func receive(within milliseconds: Int32, whileReading output: Int32 = -1) throws(DefaultsError) -> Bool {
        // A descriptor of -1 is passed over; of the output only its closing is asked for.
        var polls = [socket.awaited, pollfd(fd: output, events: 0, revents: 0)]
        let ready = poll(&polls, 2, milliseconds)
        if ready == 0 || polls[1].revents & Int16(POLLERR) != 0 { return false }
        if polls[0].revents & Int16(POLLOUT) != 0 { try socket.flush() }
        if polls[0].revents & ~Int16(POLLOUT) != 0 { _ = try socket.receive() }
        return true
    }

    /// Waits for bytes and takes them, longer from an agent that has much to do than from one that is stopped.
    ///
    /// - Throws: `agentUnavailable` when none come, or the connection is lost.
    private func receive(since start: MonotonicTime, _ patience: AgentPatience) throws(DefaultsError) {
        let last = start + patience.busy
        var end = start + patience.stopped
        while try !receive(within: end.left) {
            guard end < last, case .runs = AgentState(ofProcess: pid) else {
                throw silence(of: end.milliseconds - start.milliseconds)
            }
            end = min(last, .now() + patience.stopped)
        }
    }

    /// The error of an agent that doesn't answer.
    func silence(of milliseconds: Int64) -> DefaultsError {
        // Tenths, where it isn't whole seconds.
        let (seconds, tenth) = (milliseconds / 1_000, milliseconds % 1_000 / 100)
        let time = tenth == 0 ? "\(seconds)" : "\(seconds).\(tenth)"
        let remedy =
            switch AgentState(ofProcess: pid) {
            case .runs: "it has much to do, or is stuck: `kill -KILL \(pid)` lets others do without it."
            case .stopped:
                "it is stopped: `kill -CONT \(pid)` lets it go on, `kill -KILL \(pid)` lets others do without it."
            case .unknown: "it may be stopped, or have much to do."
            }
        let name = pid > 0 ? "pid \(pid)" : "of another namespace"
        return DefaultsError(
            .agentUnavailable, "The agent (\(name)) hasn't answered for \(time) s; \(remedy)", errno: ETIMEDOUT)
    }

    /// The error of an agent whose answer is that of another request.
    static func unexpected(_ request: String) -> DefaultsError {
        DefaultsError(.protocolViolation, "The agent's answer to \"\(request)\" is none; is it of another version?")
    }
}

extension DefaultsError {
    /// Whether an agent is there that doesn't answer, or takes no connections.
    package var isOfSilence: Bool { code == .agentUnavailable && (errno == ETIMEDOUT || errno == EAGAIN) }
}
