package import DefaultsCore
import Glibc
import Linux
import PropertyList

/// A connection to the agent, for use by one thread; each call sends a request and waits for the answer.
///
/// Events of the subscription that arrive in the meantime are queued for `nextEvent`.
package final class AgentConnection: Backend {
    /// The agent's reply to the greeting; its `pid` is corrected to this process's namespace where possible.
    package private(set) var welcome: Welcome
    /// The agent's process ID in this namespace, from the kernel.
    ///
    /// In its own namespace, the agent may have another process ID. If a service manager is listening, this is the
    /// manager's process ID until the agent has answered the greeting, and then the one that the agent has sent.
    private var pid: Int64
    /// Whether the listening process is a service manager, which starts the agent.
    private let startsAgent: Bool
    private var socket: AgentSocket
    /// The number of the latest request.
    private(set) var lastNumber: UInt64 = 0
    /// The number of the subscription; events of other subscriptions are dropped, because an agent may send them
    /// endlessly.
    private var subscription: UInt64?
    // A slice, since it removes its first element without moving the others.
    private var events: ArraySlice<StreamEvent> = []

    /// The messages that `farewell()` skipped while it looked for the agent's closing error.
    private var passedOver: ArraySlice<NumberedMessage> = []

    /// The timeouts of requests.
    let timeouts: AgentTimeouts

    /// Connects to the agent of a directory.
    ///
    /// If the user didn't name the socket, any other program that is listening there is ignored, and so is an agent of
    /// another directory. The agent may also be listening on another socket, because it has another runtime directory
    /// or was started when the directory had another path. So the socket named in the directory's claim is also tried.
    ///
    /// - Parameters:
    ///   - address: The socket on which the agent is expected.
    ///   - directory: The directory that the agent must serve.
    ///   - timeouts: The timeouts of requests.
    /// - Returns: The connection; `nil` if no agent answers.
    /// - Throws: `DefaultsError` if the program at a named or claimed socket can't be trusted or speaks another
    ///   protocol, if the one at a named socket serves another directory, or if the agent is silent.
    package static func open(
        _ address: AgentAddress, for directory: PreferencesDirectory, timeouts: AgentTimeouts = .usual
    ) throws(DefaultsError) -> AgentConnection? {
        if address.isExplicit || AgentClaim.isHeld(onSocketOf: address) {
            if let connection = try connect(to: address, for: directory, timeouts, greeting: timeouts) {
                return connection
            }
        } else if let connection = try? connect(to: address, for: directory, timeouts, greeting: .otherAgent) {
            return connection
        }
        guard !address.isExplicit, let holder = AgentClaim.holder(ofDirectory: directory),
            holder.socketPath != address.socketPath
        else { return nil }
        do throws(DefaultsError) {
            return try connect(to: AgentAddress(of: holder), for: directory, timeouts, greeting: timeouts)
        } catch {
            // The agent is there but silent. Callers that retry must know this, so that they don't wait each time.
            if error.isTimeout { throw error }
            return nil
        }
    }

    private static func connect(
        to address: AgentAddress, for directory: PreferencesDirectory, _ timeouts: AgentTimeouts,
        greeting: AgentTimeouts
    ) throws(DefaultsError) -> AgentConnection? {
        var greeting = AgentTimeouts(
            stopped: min(greeting.stopped, timeouts.stopped), busy: min(greeting.busy, timeouts.busy))
        guard let socket = try UnixSocket.connect(to: address, timeout: greeting.stopped) else { return nil }
        let connection = AgentConnection(socket, timeouts: timeouts)
        if connection.startsAgent {
            greeting = AgentTimeouts(
                stopped: min(AgentTimeouts.startingAgent.stopped, timeouts.stopped),
                busy: min(AgentTimeouts.startingAgent.busy, timeouts.busy))
        }
        return try connection.greet(directory, address, within: greeting) ? connection : nil
    }

    private init(_ socket: consuming FileDescriptor, timeouts: AgentTimeouts) {
        self.timeouts = timeouts
        let listener = SocketPeer(of: socket)
        pid = listener.map { Int64($0.pid) } ?? 0
        startsAgent = listener?.isServiceManager ?? false
        self.socket = AgentSocket(socket)
        self.welcome = Welcome(
            pid: pid, directory: "", system: .none, cursor: Cursor(epoch: Epoch(value: 0), revision: 0))
    }

    /// Greets the agent.
    ///
    /// At the default socket, an agent that serves another directory is no error: it was started with other variables,
    /// such as `XDG_CONFIG_HOME`.
    ///
    /// - Returns: Whether the agent serves the directory.
    /// - Throws: `agentRefused` if it doesn't, and the user named the socket; `agentUnavailable` if it is silent.
    private func greet(
        _ directory: PreferencesDirectory, _ address: AgentAddress, within timeouts: AgentTimeouts
    ) throws(DefaultsError) -> Bool {
        guard case .welcome(var welcome) = try answer(to: .greeting, within: timeouts) else {
            throw Self.unexpected("hello")
        }
        if startsAgent { pid = welcome.pid } else if pid > 0 { welcome.pid = pid }
        guard PreferencesDirectory(path: welcome.directory).isSame(as: directory) else {
            if !address.isExplicit { return false }
            throw DefaultsError(
                .agentRefused,
                "The agent at \(address.socketPath) (pid \(welcome.pid)) serves \(welcome.directory), not "
                    + "\(directory.path).",
                remedy: "Name another socket with --socket, or another directory with --directory.")
        }
        self.welcome = welcome
        return true
    }

    // MARK: Requests

    package var system: SystemDirectories { welcome.system }

    package func snapshot(of domain: Domain, keys: [String]?) throws(DefaultsError) -> DomainSnapshot {
        guard case .values(let snapshot) = try answer(to: .read(domain, keys: keys)) else {
            throw Self.unexpected("read")
        }
        return snapshot.only(keys)
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        guard case .domains(let domains) = try answer(to: .domains) else { throw Self.unexpected("domains") }
        return domains
    }

    package func edit(
        _ domain: Domain, _ values: Difference, replacesAll: Bool, expecting expected: Difference?, origin: Origin?
    ) throws(DefaultsError) {
        _ = try make(
            EditRequest(
                domain: domain, values: values, replacesAll: replacesAll, writer: .app(.current), expecting: expected,
                origin: origin))
    }

    /// Makes an edit; returns the position of its record.
    ///
    /// - Throws: The errors of `edit`.
    func make(_ edit: EditRequest) throws(DefaultsError) -> Cursor {
        do throws(DefaultsError) {
            guard case .edited(let cursor) = try answer(to: .edit(edit)) else { throw Self.unexpected("edit") }
            return cursor
        } catch {
            guard error.code == .agentUnavailable else { throw error }
            throw error.adding(
                "The edit was sent and may have been made.", remedy: "Read the value before you try again.")
        }
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        if let failure = try barrier([domain]).failures.first { throw failure }
    }

    /// Waits until everything that happened to domains and their files before the call is in the log and durable.
    ///
    /// - Parameter domains: The domains whose edits are saved, and for whose files to wait; `nil` for all.
    /// - Returns: The end of the log after the wait, and the reasons why edits couldn't be saved.
    /// - Throws: `agentUnavailable` if the connection is lost.
    package func barrier(
        _ domains: Set<Domain>? = nil
    ) throws(DefaultsError) -> (cursor: Cursor, failures: [DefaultsError]) {
        let timeouts = AgentTimeouts(stopped: max(timeouts.stopped, AgentTimeouts.disk.stopped), busy: timeouts.busy)
        guard
            case .synchronized(let cursor, let failures) = try answer(to: .synchronize(domains), within: timeouts)
        else {
            throw Self.unexpected("synchronize")
        }
        return (cursor, failures)
    }

    /// Returns the agent's status, which is the content of `defaults status --json`.
    ///
    /// `pid` is the agent's process ID in this namespace, and is missing if there is none. `ownPID` is the process ID
    /// in the agent's own namespace, if different.
    package func status() throws(DefaultsError) -> DomainValues {
        guard case .status(var status) = try answer(to: .status) else { throw Self.unexpected("status") }
        let own = status["pid"]
        guard own != .integer(pid) else { return status }
        status["ownPID"] = own
        status["pid"] = pid > 0 ? .integer(pid) : nil
        return status
    }

    /// Begins a stream of events, which `nextEvent` returns.
    ///
    /// A connection has one stream.
    ///
    /// - Returns: The cursor after which the stream begins.
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
    ///   - milliseconds: The timeout; -1 for none.
    ///   - output: A pipe or socket, such as standard output; the wait ends when its reader closes it.
    /// - Returns: The event; `nil` after the timeout, or if the output has no reader.
    /// - Throws: `agentUnavailable` if the connection is lost.
    package func nextEvent(
        within milliseconds: Int32, whileReading output: Int32 = -1
    ) throws(DefaultsError) -> StreamEvent? {
        let end = MonotonicTime.now() + Int64(milliseconds)
        while events.isEmpty {
            if let message = try socket.next() {
                keep(message)
                continue
            }
            let remaining = milliseconds < 0 ? -1 : end.millisecondsLeft
            if try !receive(within: remaining, whileReading: output) { return nil }
        }
        return events.removeFirst()
    }

    /// Waits for an event that the agent must send.
    ///
    /// - Parameter timeouts: The timeouts of the wait.
    /// - Returns: The event.
    /// - Throws: `agentUnavailable` if the agent is silent or the connection is lost.
    func nextEvent(within timeouts: AgentTimeouts) throws(DefaultsError) -> StreamEvent {
        let start = MonotonicTime.now()
        while events.isEmpty {
            guard start + timeouts.busy > .now() else { throw silence(of: timeouts.busy) }
            if let message = try socket.next() { keep(message) } else { try receive(since: start, timeouts) }
        }
        return events.removeFirst()
    }

    /// Drops the events that have arrived, after their stream has ended.
    func forgetEvents() {
        events = []
        subscription = nil
    }

    private func keep(_ message: NumberedMessage) {
        if case .event(let event) = message.message, message.number == subscription { events.append(event) }
    }

    // MARK: Messages

    /// Sends a request without waiting for its answer; later calls that wait for another answer skip it.
    ///
    /// - Returns: The request's number.
    /// - Throws: The agent's closing error if it sent one, or else `agentUnavailable`, if the connection is lost;
    ///   `invalidValue` if the request is too large.
    @discardableResult
    package func send(_ request: Request) throws(DefaultsError) -> UInt64 {
        lastNumber += 1
        do throws(DefaultsError) {
            try socket.send(NumberedRequest(number: lastNumber, request: request))
        } catch {
            // Nothing was sent.
            if error.code == .invalidValue { throw error }
            // An agent that refuses a connection sends the reason and closes it, perhaps before the first request.
            throw farewell() ?? error
        }
        return lastNumber
    }

    /// The descriptor and events to `poll` for, for callers of `flush`, `receive` and `nextMessage`, which don't wait.
    var awaited: pollfd { socket.awaited }

    /// Sends as many pending bytes as the socket currently accepts.
    func flush() throws(DefaultsError) { try socket.flush() }

    /// Receives the bytes that have arrived; returns false if there are none.
    func receive() throws(DefaultsError) -> Bool { try socket.receive() }

    /// Dequeues the next message that has arrived, of any kind.
    func nextMessage() throws(DefaultsError) -> NumberedMessage? {
        passedOver.isEmpty ? try socket.next() : passedOver.removeFirst()
    }

    /// Sends a request and waits for its answer.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - timeouts: The timeouts of the wait; `nil` for the connection's own.
    /// - Returns: The answer.
    /// - Throws: The error with which the agent refuses the request; `agentUnavailable` if the agent is silent or gone.
    func answer(to request: Request, within timeouts: AgentTimeouts? = nil) throws(DefaultsError) -> Message {
        let timeouts = timeouts ?? self.timeouts
        try send(request)
        let start = MonotonicTime.now()
        while true {
            // Messages may keep arriving without including the answer.
            guard start + timeouts.busy > .now() else { throw silence(of: timeouts.busy) }
            guard let message = try socket.next() else {
                try receive(since: start, timeouts)
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

    /// Finds the error with which the agent closed the connection, if it sent one.
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

    /// Waits until bytes can be received or sent, and receives or sends them.
    ///
    /// - Returns: False after the timeout, or if the output has no reader.
    private func receive(within milliseconds: Int32, whileReading output: Int32 = -1) throws(DefaultsError) -> Bool {
        // `poll` ignores a descriptor of -1. For the output, no events are requested, but its closing is always
        // reported.
        var polls = [socket.awaited, pollfd(fd: output, events: 0, revents: 0)]
        let ready = poll(&polls, 2, milliseconds)
        if ready == 0 || polls[1].isClosed { return false }
        if polls[0].revents & Int16(POLLOUT) != 0 { try socket.flush() }
        if polls[0].revents & ~Int16(POLLOUT) != 0 { _ = try socket.receive() }
        return true
    }

    /// Waits for bytes and receives them; waits longer for a busy agent than for a stopped one.
    ///
    /// - Throws: `agentUnavailable` after the timeout, or if the connection is lost.
    private func receive(since start: MonotonicTime, _ timeouts: AgentTimeouts) throws(DefaultsError) {
        let last = start + timeouts.busy
        var end = start + timeouts.stopped
        while try !receive(within: end.millisecondsLeft) {
            guard end < last, case .runs = ProcessStatus(ofProcess: pid) else {
                throw silence(of: end.milliseconds - start.milliseconds)
            }
            end = min(last, .now() + timeouts.stopped)
        }
    }

    /// Returns the error for an agent that has been silent for some time.
    func silence(of milliseconds: Int64) -> DefaultsError {
        // Show tenths unless they are zero.
        let (seconds, tenth) = (milliseconds / 1_000, milliseconds % 1_000 / 100)
        let time = tenth == 0 ? "\(seconds)" : "\(seconds).\(tenth)"
        // Until the agent has answered, `pid` may be the service manager's, which must not be killed.
        if startsAgent, welcome.directory.isEmpty {
            return DefaultsError(
                .agentUnavailable,
                "The service manager has not started the agent within \(time) s.",
                remedy: "To see why, run `systemctl --user status defaultsd`.",
                errno: ETIMEDOUT)
        }
        let (state, remedy): (String, String?) =
            switch ProcessStatus(ofProcess: pid) {
            case .runs: ("It is busy or hung.", "To continue without it, run `kill -KILL \(pid)`.")
            case .stopped:
                (
                    "It is stopped.",
                    "To resume it, run `kill -CONT \(pid)`; to continue without it, run `kill -KILL \(pid)`."
                )
            case .unknown: ("It may be stopped or busy.", nil)
            }
        let name = pid > 0 ? "pid \(pid)" : "in another namespace"
        return DefaultsError(
            .agentUnavailable, "The agent (\(name)) has not responded for \(time) s. \(state)", remedy: remedy,
            errno: ETIMEDOUT)
    }

    /// Returns the error for an answer to the wrong kind of request.
    static func unexpected(_ request: String) -> DefaultsError {
        DefaultsError(
            .protocolViolation,
            "Unexpected reply to \"\(request)\" from the agent. It may be a different version.", remedy: "Restart it.")
    }
}

extension DefaultsError {
    /// Whether an agent is there but is silent or accepts no connections.
    package var isTimeout: Bool { code == .agentUnavailable && (errno == ETIMEDOUT || errno == EAGAIN) }
}
