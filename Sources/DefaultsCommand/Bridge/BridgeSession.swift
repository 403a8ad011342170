import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// A run of `bridge`, which relays requests and messages until its input ends.
struct BridgeSession {
    private var search: AgentSearch
    private var requests = BridgedRequests()
    /// The part of the input that isn't a whole line yet.
    private var input: [UInt8] = []
    private var hasEnded = false
    /// Whether the rest of a line is skipped.
    private var skipsLine = false
    /// The number of the last line of the input.
    private var line = 0
    /// The lines that the client hasn't read yet.
    private var output: ArraySlice<UInt8> = []

    /// The size of unread output above which nothing more is received from the agent.
    private static let outputLimit = 1 << 20
    /// The number of bytes that a pipe takes at once if it takes any (`man 7 pipe`, `PIPE_BUF`).
    private static let pieceSize = 4096

    init(_ search: AgentSearch) { self.search = search }

    /// Serves the client until the input has ended and everything is answered.
    mutating func run() throws {
        var isAgain = false
        while let agent = try search.connect(again: isAgain, needingReader: true) {
            do throws(DefaultsError) {
                try begin(agent)
                return try serve(agent)
            } catch {
                // The agent is being upgraded or replaced, so an agent will be available again soon.
                guard error.code == .agentUnavailable, !error.isTimeout else { throw error }
                isAgain = true
            }
        }
    }

    /// Announces the agent, and asks it for what the former one hasn't answered.
    private mutating func begin(_ agent: AgentConnection) throws(DefaultsError) {
        write(agent.welcome.fields.merging(["type": "welcome"]) { $1 })
        let (messages, answers) = requests.resume(in: agent.welcome.cursor.epoch)
        answers.forEach { write($0) }
        for var message in messages {
            do throws(DefaultsError) { try agent.socket.send(message) } catch {
                // The replaced values are optional, and may be what makes an edit too large.
                guard error.code == .invalidValue, message.removeValue(forKey: "replacing") != nil else { throw error }
                if let answer = requests.answer(toUnknown: message) {
                    write(answer)
                } else {
                    try agent.socket.send(message)
                }
            }
        }
    }

    private mutating func serve(_ agent: AgentConnection) throws(DefaultsError) {
        while !hasEnded || !requests.isAnswered || !output.isEmpty {
            let hasRoom = output.count < Self.outputLimit
            // Neither a client that only writes nor an agent that doesn't read must make this process grow.
            let takesInput =
                output.count < 4 * Self.outputLimit && agent.socket.awaited.events & Int16(POLLOUT) == 0
            // `poll` ignores a descriptor of -1. For the output, its closing is always reported.
            var polls = [
                pollfd(fd: hasEnded || !takesInput ? -1 : STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: STDOUT_FILENO, events: Int16(output.isEmpty ? 0 : POLLOUT), revents: 0),
                agent.socket.awaited,
            ]
            if !hasRoom { polls[2].events &= ~Int16(POLLIN) }
            if poll(&polls, 3, -1) < 0, errno != EINTR {
                throw DefaultsError(.unreadable, errno: errno, "The agent and the client can't be waited for")
            }
            if polls[1].isClosed { return }
            if polls[1].revents != 0 { writePiece() }
            if polls[2].revents & Int16(POLLOUT) != 0 { try agent.socket.flush() }
            if polls[2].revents & ~Int16(POLLOUT) != 0 { try receive(agent) }
            if polls[0].revents != 0 { try readInput(agent) }
        }
    }

    /// Relays what has arrived from the agent.
    private mutating func receive(_ agent: AgentConnection) throws(DefaultsError) {
        var loss: DefaultsError?
        do throws(DefaultsError) { _ = try agent.socket.receive() } catch { loss = error }
        while let message = try agent.socket.nextFields() {
            for answer in try requests.handle(message.values) { write(answer) }
        }
        if let loss { throw loss }
    }

    /// Reads a part of the input, and makes the requests in it.
    private mutating func readInput(_ agent: AgentConnection) throws(DefaultsError) {
        var count = 0
        let new = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
            count = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
            filled = max(0, count)
        }
        if count < 0 {
            if errno == EINTR || errno == EAGAIN { return }
            throw DefaultsError(.unreadable, errno: errno, "The requests can't be read from standard input")
        }
        hasEnded = count == 0
        var rest = new[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            if !skipsLine {
                input += rest[..<end]
                makeRequest(agent)
            }
            skipsLine = false
            rest = rest[(end + 1)...]
        }
        if skipsLine { return }
        input += rest
        // A line that is too long is refused at once, and the rest of it skipped.
        skipsLine = input.count > Frame.standardLimit
        if skipsLine || hasEnded, !input.isEmpty { makeRequest(agent) }
    }

    /// Makes the request in a line.
    private mutating func makeRequest(_ agent: AgentConnection) {
        line += 1
        let text = input
        input = []
        if text.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { return }
        let value: PropertyListValue
        do throws(Failure) {
            value = try JSONReader.read(text, limits: Frame.requestLimits, firstLine: line)
        } catch {
            let number = JSONReader.value(of: "request", inObject: text, limits: Frame.requestLimits)
            return fail(DefaultsError(number == nil ? .protocolViolation : .invalidValue, error.message), number)
        }
        guard case .dictionary(let entries) = value else {
            return fail(DefaultsError(.protocolViolation, "Line \(line): A request must be an object."))
        }
        // JSON knows only numbers: 1.0 and 1e0 are 1. The values of preferences are inside of entries.
        let request = entries.mapValues { entry -> PropertyListValue in
            guard case .real(let number) = entry, let whole = Int64(exactly: number) else { return entry }
            return .integer(whole)
        }
        let messages: [DomainValues]
        do throws(DefaultsError) { messages = try requests.add(request, at: .now()) } catch {
            return fail(error, request["request"])
        }
        do throws(DefaultsError) { for message in messages { try agent.socket.send(message) } } catch {
            // A lost connection is noticed when the next message is received.
            if error.code == .agentUnavailable { return }
            requests.withdraw(request)
            fail(error, request["request"])
        }
    }

    private mutating func fail(_ error: DefaultsError, _ number: PropertyListValue? = nil) {
        write(error.fields.merging(["type": "failure", "request": number ?? 0]) { $1 })
    }

    // MARK: Output

    private mutating func write(_ message: DomainValues) {
        output += (Self.text(of: .dictionary(message)) + "\n").utf8
    }

    /// The entries of messages with values of preferences, which must be exact for a client that holds numbers as
    /// doubles; the protocol's own numbers, such as times, are exact enough.
    private static let exactEntries: Set = ["values", "old", "new", "value"]

    private static func text(of part: PropertyListValue) -> String {
        switch part {
        case .dictionary(let entries):
            JSONText.object(
                entries.sorted { $0.key < $1.key }.map { key, value in
                    (key, exactEntries.contains(key) ? JSONText.forDoubles(value) : text(of: value))
                })
        case .array(let elements): "[" + elements.map { text(of: $0) }.joined(separator: ",") + "]"
        default: JSONText.of(part)
        }
    }

    /// Writes as much as the output certainly takes.
    private mutating func writePiece() {
        let piece = Array(output.prefix(Self.pieceSize))
        do throws(Failure) { try StandardOutput.write(piece) } catch { Failure.end(error.message, error.status) }
        output.removeFirst(piece.count)
        if output.isEmpty { output = [] }
    }
}
