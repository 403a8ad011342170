package import DefaultsCore
import Glibc
import Linux

/// A connection to the agent, for use by one thread; each call sends a request and waits for the answer.
///
/// Events of the subscription that arrive in the meantime are queued for `nextEvent`.
package final class AgentConnection: Backend {
    /// The agent's reply to the greeting; its `pid` is corrected to this process's namespace where possible.
    package private(set) var welcome: Welcome
    /// The agent's process, or the service manager's until the agent has answered the greeting.
    private(set) var process: ServingProcess
    /// The socket, which a session or a bridge uses in this connection's place.
    package var socket: AgentSocket
    /// The number of the subscription; events of other subscriptions are dropped, because an agent may send them
    /// endlessly.
    private var subscription: UInt64?
    // A slice, since it removes its first element without moving the others.
    private var events: ArraySlice<StreamEvent> = []

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
        let greeting = AgentTimeouts(
            stopped: min(greeting.stopped, timeouts.stopped), busy: min(greeting.busy, timeouts.busy))
        guard let connection = try greeted(at: address, timeouts, greeting: greeting) else { return nil }
        let served = connection.welcome.directory
        if PreferencesDirectory(path: served).isSame(as: directory) { return connection }
        // At the default socket, an agent that serves another directory is no error: it was started with other
        // variables, such as `XDG_CONFIG_HOME`.
        if !address.isExplicit { return nil }
        throw DefaultsError(
            .agentRefused,
            "The agent at \(address.socketPath) (pid \(connection.welcome.pid)) serves \(served), not "
                + "\(directory.path).",
            remedy: "Name another socket with --socket, or another directory with --directory.")
    }

    /// Returns the welcome of the agent at an address, whatever directory it serves; `nil` if none answers.
    static func welcome(at address: AgentAddress) -> Welcome? {
        let timeouts = AgentTimeouts.otherAgent
        return (try? greeted(at: address, timeouts, greeting: timeouts))?.welcome
    }

    /// Connects to the agent at an address and greets it; returns `nil` if none is there.
    private static func greeted(
        at address: AgentAddress, _ timeouts: AgentTimeouts, greeting: AgentTimeouts
    ) throws(DefaultsError) -> AgentConnection? {
        var greeting = greeting
        guard let connection = try AgentConnection(address, connectingWithin: greeting.stopped, timeouts: timeouts)
        else { return nil }
        if connection.process.startsAgent {
            greeting = AgentTimeouts(
                stopped: min(AgentTimeouts.startingAgent.stopped, timeouts.stopped),
                busy: min(AgentTimeouts.startingAgent.busy, timeouts.busy))
        }
        try connection.greet(within: greeting)
        return connection
    }

    /// Connects to a socket.
    ///
    /// Fails if no agent is listening there, or if the user didn't name the socket and its directory can't be trusted.
    ///
    /// - Throws: `DefaultsError` if the directory of a socket named by the user can't be trusted, if the listening
    ///   process can't be trusted, or if the connection fails for another reason.
    private init?(
        _ address: AgentAddress, connectingWithin timeout: Int64, timeouts: AgentTimeouts
    ) throws(DefaultsError) {
        if address.problem != nil || Path.isMissing(address.socketPath) { return nil }
        do throws(DefaultsError) { try address.checkDirectory() } catch {
            // At the default address, an untrusted directory only means that no agent can be listening there.
            if address.isExplicit { throw error }
            return nil
        }
        do throws(SystemCall.Failure) {
            socket = try AgentSocket(connectingTo: address.socketPath, timeout: timeout)
        } catch {
            if error.number == ECONNREFUSED || error.number == ENOENT { return nil }
            throw DefaultsError(
                .agentUnavailable, errno: error.number, "The agent's socket \(address.socketPath) can't be reached")
        }
        self.timeouts = timeouts
        process = ServingProcess(socket.peer)
        welcome = Welcome(
            pid: process.pid, directory: "", system: .none, cursor: Cursor(epoch: Epoch(value: 0), revision: 0))
    }

    /// Greets the agent.
    ///
    /// - Throws: `agentUnavailable` if it is silent.
    private func greet(within timeouts: AgentTimeouts) throws(DefaultsError) {
        guard case .welcome(var welcome) = try answer(to: .greeting, within: timeouts) else {
            throw Self.unexpected("hello")
        }
        process.identify(&welcome)
        self.welcome = welcome
    }

    // MARK: Events

    /// Begins a stream of events, which `nextEvent` returns.
    ///
    /// A connection has one stream.
    ///
    /// - Returns: The cursor after which the stream begins.
    package func subscribe(
        _ start: Subscription.Start, filter: SubscriptionFilter, mode: Subscription.Mode
    ) throws(DefaultsError) -> Cursor {
        subscription = socket.lastNumber + 1
        guard case .subscribed(let cursor) = try answer(to: .subscribe(start, filter, mode)) else {
            throw Self.unexpected("subscribe")
        }
        return cursor
    }

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
                queue(message)
                continue
            }
            let remaining = milliseconds < 0 ? -1 : end.millisecondsLeft
            if try !socket.wait(within: remaining, whileReading: output) { return nil }
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
        while events.isEmpty { queue(try nextMessage(since: start, timeouts)) }
        return events.removeFirst()
    }

    /// Drops the events that have arrived, after their stream has ended.
    func forgetEvents() {
        events = []
        subscription = nil
    }

    private func queue(_ message: NumberedMessage) {
        if case .event(let event) = message.message, message.number == subscription { events.append(event) }
    }

    // MARK: Messages

    /// Sends a request without waiting for its answer; later calls that wait for another answer skip it.
    ///
    /// - Throws: The agent's closing error if it sent one, or else `agentUnavailable`, if the connection is lost;
    ///   `invalidValue` if the request is too large.
    package func send(_ request: Request) throws(DefaultsError) {
        do throws(DefaultsError) {
            try socket.send(request)
        } catch {
            // Nothing was sent.
            if error.code == .invalidValue { throw error }
            // An agent that refuses a connection sends the reason and closes it, perhaps before the first request.
            throw farewell() ?? error
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - timeouts: The timeouts of the wait; `nil` for the connection's own.
    /// - Returns: The answer.
    /// - Throws: The error with which the agent refuses the request; `agentUnavailable` if the agent is silent or gone.
    func answer(to request: Request, within timeouts: AgentTimeouts? = nil) throws(DefaultsError) -> Message {
        try send(request)
        let start = MonotonicTime.now()
        while true {
            let message = try nextMessage(since: start, timeouts ?? self.timeouts)
            if case .event = message.message {
                queue(message)
            } else if message.number == socket.lastNumber || message.number == 0 {
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
            } else if (try? socket.receive()) != true {
                return nil
            }
        }
    }

    /// Waits for the next message; waits longer for a busy agent than for a stopped one.
    ///
    /// - Throws: `agentUnavailable` after the timeout, or if the connection is lost.
    private func nextMessage(
        since start: MonotonicTime, _ timeouts: AgentTimeouts
    ) throws(DefaultsError) -> NumberedMessage {
        let last = start + timeouts.busy
        while last > .now() {
            if let message = try socket.next() { return message }
            var end = start + timeouts.stopped
            while try !socket.wait(within: end.millisecondsLeft) {
                guard end < last, process.isRunning else {
                    throw process.silence(of: end.milliseconds - start.milliseconds)
                }
                end = min(last, .now() + timeouts.stopped)
            }
        }
        // Messages may keep arriving without including the one that is waited for.
        throw process.silence(of: timeouts.busy)
    }
}

extension DefaultsError {
    /// Whether an agent is there but is silent or accepts no connections.
    package var isTimeout: Bool { code == .agentUnavailable && (errno == ETIMEDOUT || errno == EAGAIN) }
}
