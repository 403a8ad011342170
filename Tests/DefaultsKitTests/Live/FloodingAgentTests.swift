import DefaultsCore
import Glibc
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("An agent that never stops sending")
struct FloodingAgentTests {
    @Test("Is heard and answered all the same, and the events before an answer are seen when it comes")
    func heard() throws {
        try withFloodingAgent { environment in
            let live = LiveDomains(.success(try LivePlace(environment: environment)))
            defer { live.close() }
            let seen = Seen()
            // On a thread of its own, since a client that only reads never answers.
            withBackgroundThread { _ in
                guard let defaults = UserDefaults(suiteName: "org.example.app", in: live) else { return }
                seen.value.store(defaults.integer(forKey: "k"), ordering: .relaxed)
                if defaults.synchronize() { seen.hasSynchronized.store(true, ordering: .relaxed) }
            } while: {
                #expect(eventually(within: 20) { seen.value.load(ordering: .relaxed) == 1 })
                #expect(eventually(within: 20) { seen.hasSynchronized.load(ordering: .relaxed) })
            }
        }
    }

    @Test("A command gives up an agent that sends anything but the answer")
    func noAnswer() throws {
        try withFloodingAgent(answers: false) { environment in
            let place = try LivePlace(environment: environment)
            let connection = try AgentConnection.open(
                place.address.get(), for: place.directory, patience: AgentPatience(stopped: 200, busy: 400))
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

/// Runs a body beside an agent that answers what it is asked, and sends changes of a key as fast as they are taken.
///
/// - Parameters:
///   - answers: whether it answers more than the greeting.
///   - body: the body.
/// - Throws: what the body throws, or why the agent can't listen.
private func withFloodingAgent(answers: Bool = true, _ body: (Environment) throws -> Void) throws {
    try withTemporaryDirectory { path in
        let listener = FileDescriptor(
            owning: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
        let number = listener.number
        let bound = UnixAddress(path: "\(path)/socket")?.with { bind(number, $0, $1) }
        guard bound == 0, listen(number, 8) == 0 else { throw TestSystemError("listen") }
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

/// One connection of the agent's.
private final class FloodingAgent {
    private let socket: FileDescriptor
    private let path: String
    private let domain = (try? DomainName("org.example.app")).map { Domain($0) } ?? Domain(.global)
    private var decoder = FrameDecoder(limits: Frame.requestLimits)
    private var outgoing: [UInt8] = []
    private var revision: Revision = 1
    private var stream: UInt64?
    private let answers: Bool
    /// As many changes as are made at once, since to make them is slower than to read them.
    private static let batch = 200

    init(_ socket: consuming FileDescriptor, _ path: String, _ answers: Bool) {
        self.answers = answers
        self.socket = socket
        self.path = path
    }

    private var cursor: Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }

    /// Answers what has come, and sends more.
    ///
    /// - Returns: false when the client is gone.
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
            // Again and again, since to make more takes longer than to read them.
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
                protocolVersion: Request.protocolVersion, pid: Int64(getpid()), directory: path, system: .none,
                cursor: cursor)
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
