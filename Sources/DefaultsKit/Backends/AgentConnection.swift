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
    private let socket: FileDescriptor
    private var decoder: FrameDecoder
    private var lastNumber: UInt64 = 0
    private var events: [StreamEvent] = []

    /// How long an agent may take to answer, in milliseconds, before it is given up.
    private static let patience: Int32 = 30_000

    /// Connects to the agent of a directory.
    ///
    /// - Returns: `nil` when none answers there.
    /// - Throws: when what answers isn't to be trusted, speaks another protocol, or keeps another directory.
    package static func open(
        _ address: AgentAddress, for directory: PreferencesDirectory
    ) throws(DefaultsError) -> AgentConnection? {
        guard let socket = try UnixSocket.connect(to: address) else { return nil }
        let connection = AgentConnection(socket)
        try connection.greet(directory, address)
        return connection
    }

    private init(_ socket: consuming FileDescriptor) {
        self.socket = socket
        self.decoder = FrameDecoder(limits: Frame.messageLimits)
        self.welcome = Welcome(
            pid: 0, directory: "", system: .none, cursor: Cursor(epoch: Epoch(value: 0), revision: 0))
    }

    private func greet(_ directory: PreferencesDirectory, _ address: AgentAddress) throws(DefaultsError) {
        let request = Request.hello(
            protocolVersion: Request.protocolVersion, client: AppIdentity.current.executable)
        guard case .welcome(_, let pid, let path, let system, let cursor) = try answer(to: request) else {
            throw Self.unexpected("hello")
        }
        guard PreferencesDirectory(path: path).resolvedPath == directory.resolvedPath else {
            throw DefaultsError(
                .agentRefused,
                "The agent at \(address.socketPath) (pid \(pid)) keeps \(path), not \(directory.path); "
                    + "name another socket with --socket, or another directory with --directory.")
        }
        welcome = Welcome(pid: pid, directory: path, system: system, cursor: cursor)
    }

    // MARK: Requests

    package func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot {
        guard case .values(let snapshot) = try answer(to: .read(domain)) else { throw Self.unexpected("read") }
        return snapshot
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        guard case .domains(let domains) = try answer(to: .domains) else { throw Self.unexpected("domains") }
        return domains
    }

    package func edit(_ domain: Domain, _ values: Difference, replacesAll: Bool) throws(DefaultsError) {
        let edit = EditRequest(
            domain: domain, values: values, replacesAll: replacesAll, writer: .app(.current))
        guard case .edited = try answer(to: .edit(edit)) else { throw Self.unexpected("edit") }
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        if let failure = try barrier(domain).failures.first { throw DefaultsError(.notSaved, failure) }
    }

    /// Returns when all that happened before, in the agent and in the directory, is in the log and durable.
    ///
    /// - Parameter domain: whose edits are to be durable; all domains' if left out.
    /// - Returns: where the log ends then, and what couldn't be saved.
    /// - Throws: `agentUnavailable` when the connection is lost.
    package func barrier(_ domain: Domain? = nil) throws(DefaultsError) -> (cursor: Cursor, failures: [String]) {
        guard case .synchronized(let cursor, let failures) = try answer(to: .synchronize(domain)) else {
            throw Self.unexpected("synchronize")
        }
        return (cursor, failures)
    }

    /// What the agent says of how it does: the content of `defaults status --json`.
    package func status() throws(DefaultsError) -> DomainValues {
        guard case .status(let status) = try answer(to: .status) else { throw Self.unexpected("status") }
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
        let end = Self.now() + Int64(milliseconds)
        while events.isEmpty {
            if let message = try nextMessage() {
                keep(message)
                continue
            }
            let left = milliseconds < 0 ? -1 : Int32(clamping: max(0, end - Self.now()))
            if try !receive(within: left, whileReading: output) { return nil }
        }
        return events.removeFirst()
    }

    private func keep(_ message: NumberedMessage) {
        if case .event(let event) = message.message { events.append(event) }
    }

    // MARK: Messages

    /// Sends a request without waiting for its answer, which is passed over when it comes.
    package func send(_ request: Request) throws(DefaultsError) {
        lastNumber += 1
        let frame = try Frame.encode(NumberedRequest(number: lastNumber, request: request).fields)
        do throws(DefaultsError) {
            try write(frame)
        } catch {
            // An agent that refuses a connection says why and closes it, perhaps before it was asked anything.
            throw farewell() ?? error
        }
    }

    private func answer(to request: Request) throws(DefaultsError) -> Message {
        try send(request)
        let end = Self.now() + Int64(Self.patience)
        while true {
            guard let message = try nextMessage() else {
                guard try receive(within: Int32(clamping: max(0, end - Self.now()))) else {
                    throw DefaultsError(
                        .agentUnavailable,
                        "The agent (pid \(welcome.pid)) hasn't answered for \(Self.patience / 1_000) s.")
                }
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
            if let message = try? nextMessage() {
                if case .failure(let error) = message.message, message.number == 0 { return error }
            } else if (try? receive(within: 0)) != true {
                return nil
            }
        }
    }

    private func nextMessage() throws(DefaultsError) -> NumberedMessage? {
        guard let fields = try decoder.next() else { return nil }
        return try NumberedMessage(fields)
    }

    /// Waits for bytes and takes them.
    ///
    /// - Returns: false when the time is over, or nobody reads the output any more.
    private func receive(within milliseconds: Int32, whileReading output: Int32 = -1) throws(DefaultsError) -> Bool {
        // A descriptor of -1 is passed over; of the output only its closing is asked for.
        var polls = [
            pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0), pollfd(fd: output, events: 0, revents: 0),
        ]
        let ready = poll(&polls, 2, milliseconds)
        if ready == 0 || polls[1].revents & Int16(POLLERR) != 0 { return false }
        if ready < 0 {
            if errno == EINTR { return true }
            throw Self.lost(errno)
        }
        do throws(SystemCall.Failure) {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = try SystemCall.run { read(socket.number, &buffer, buffer.count) }
            if count == 0 { throw SystemCall.Failure(number: ECONNRESET) }
            decoder.append(buffer[..<count])
            return true
        } catch {
            throw Self.lost(error.number)
        }
    }

    private func write(_ bytes: [UInt8]) throws(DefaultsError) {
        var sent = 0
        while sent < bytes.count {
            do throws(SystemCall.Failure) {
                sent += try SystemCall.run {
                    bytes[sent...].withUnsafeBytes {
                        Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                }
            } catch {
                throw Self.lost(error.number)
            }
        }
    }

    private static func lost(_ number: Int32) -> DefaultsError {
        DefaultsError(.agentUnavailable, errno: number, "The connection to the agent is lost")
    }

    private static func unexpected(_ request: String) -> DefaultsError {
        DefaultsError(.protocolViolation, "The agent's answer to \"\(request)\" is none; is it of another version?")
    }

    /// Milliseconds by a clock that nobody sets.
    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
