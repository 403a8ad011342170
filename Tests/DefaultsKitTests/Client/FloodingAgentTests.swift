import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

@Suite("Agent that never stops sending")
struct FloodingAgentTests {
    @Test("A flooding agent's answers are received, and the events before an answer are seen first")
    func heard() throws {
        try withFloodingAgent { environment in
            let client = Client(.success(try Location(environment: environment)))
            defer { client.close() }
            let seen = Seen()
            // On its own thread: these calls would never return in a client that does nothing but receive.
            withBackgroundThread { _ in
                guard let defaults = UserDefaults(suiteName: "org.example.app", in: client) else { return }
                seen.value.store(defaults.integer(forKey: "k"), ordering: .relaxed)
                if defaults.synchronize() { seen.hasSynchronized.store(true, ordering: .relaxed) }
            } while: {
                #expect(eventually(within: 60) { seen.value.load(ordering: .relaxed) == 1 })
                #expect(eventually(within: 60) { seen.hasSynchronized.load(ordering: .relaxed) })
            }
        }
    }

    @Test("A command gives up on an agent that sends everything but the answer")
    func noAnswer() throws {
        try withFloodingAgent(answers: false) { environment in
            let place = try Location(environment: environment)
            let connection = try AgentConnection.open(
                place.address.get(), for: place.directory, timeouts: AgentTimeouts(stopped: 200, busy: 400))
            let agent = try #require(connection)
            let error = #expect(throws: DefaultsError.self) { try agent.domains() }
            #expect(error?.code == .agentUnavailable)
        }
    }
}

private final class Seen: Sendable {
    let value = Atomic(0)
    let hasSynchronized = Atomic(false)
}

/// Runs a body with a fake agent that answers requests and sends changes to a key as fast as they are received.
///
/// - Parameters:
///   - answers: whether the agent answers requests other than the greeting.
///   - body: the body.
/// - Throws: the body's error, or an error if the agent can't listen.
private func withFloodingAgent(answers: Bool = true, _ body: (Environment) throws -> Void) throws {
    try withTemporaryDirectory { path in
        let listener = try listeningSocket(at: "\(path)/socket")
        let number = listener.number
        let environment = Environment([
            "DEFAULTS_DIRECTORY": path, "DEFAULTSD_SOCKET": "\(path)/socket",
            "DEFAULTS_SYSTEM_DIRECTORIES": path + "/none", "DEFAULTS_MANAGED_DIRECTORY": path + "/none",
        ])
        try withBackgroundThread { mayGoOn in
            var agent: FloodingAgent?
            while mayGoOn() {
                var waiting = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                if poll(&waiting, 1, agent == nil ? 10 : 0) == 1 {
                    agent = FloodingAgent(FileDescriptor(owning: accept(number, nil, nil)), path, answers)
                }
                guard let current = agent else { continue }
                if !current.serve() { agent = nil }
            }
        } while: {
            try body(environment)
        }
    }
}

/// A connection of the fake agent.
private final class FloodingAgent {
    private let socket: FileDescriptor
    private let path: String
    private let domain = (try? DomainName("org.example.app")).map { Domain($0) } ?? Domain(.global)
    private var decoder = FrameDecoder(limits: Frame.requestLimits)
    private var outgoing: [UInt8] = []
    private var revision: Revision = 1
    private var stream: UInt64?
    private let answers: Bool
    /// The number of changes encoded together, as encoding is slower than reading.
    private static let batch = 200

    init(_ socket: consuming FileDescriptor, _ path: String, _ answers: Bool) {
        self.answers = answers
        self.socket = socket
        self.path = path
    }

    private var cursor: Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }

    /// Answers pending requests and sends more changes.
    ///
    /// - Returns: `false` if the client has disconnected.
    func serve() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(socket.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count == 0 || count < 0 && errno != EAGAIN { return false }
        if count > 0 { decoder.append(buffer[..<count]) }
        while let fields = try? decoder.next() {
            guard let request = try? NumberedRequest(fields, from: .current) else { return false }
            answer(request)
        }
        if outgoing.isEmpty, let stream {
            var frames: [UInt8] = []
            for _ in 0..<Self.batch {
                let old = PropertyListValue.integer(Int64(revision))
                revision += 1
                let change = KeyChange(key: "flood", old: old, new: .integer(Int64(revision)))
                let record = LogRecord(
                    revision: revision, time: .now(),
                    event: .change(ChangeSet(domain: domain, source: .file, changes: [change])))
                frames += frame(.event(.record(record, cursor: cursor)), stream)
            }
            // The same frames are repeated, since encoding them takes longer than reading them.
            for _ in 0..<100 { outgoing += frames }
        }
        let sent = Glibc.send(
            socket.number, outgoing, outgoing.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        if sent < 0 { return errno == EAGAIN }
        outgoing = Array(outgoing[sent...])
        return true
    }

    private func answer(_ numbered: NumberedRequest) {
        let number = numbered.number
        switch numbered.request {
        case .hello:
            let welcome = Message.welcome(
                Welcome(pid: Int64(getpid()), directory: path, system: .none, cursor: cursor))
            outgoing += frame(welcome, number)
            if !answers { stream = 99 }
        case _ where !answers: break
        case .subscribe:
            stream = stream ?? number
            outgoing += frame(.subscribed(cursor), number)
            let snapshot = DomainSnapshot(domain: domain, values: ["k": 1], cursor: cursor)
            outgoing += frame(.event(.initial(snapshot)), number) + frame(.event(.bookmark(cursor)), number)
        case .synchronize: outgoing += frame(.synchronized(cursor, failures: []), number)
        default: outgoing += frame(.unsubscribed, number)
        }
    }

    private func frame(_ message: Message, _ number: UInt64) -> [UInt8] {
        (try? Frame.encode(NumberedMessage(number: number, message: message).fields)) ?? []
    }
}
