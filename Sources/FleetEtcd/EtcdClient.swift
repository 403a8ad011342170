#if FleetEtcd
import Dispatch
import Fleet
import FleetCommand
import FoundationEssentials
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import Glibc
import Linux
import NIOCore
import SwiftProtobuf

/// A client of etcd's members, over TLS with a certificate of its own.
///
/// The watch and the requests have a connection each, so that neither waits for the other. After a failure, the next
/// request goes to another member. For one thread.
final class EtcdClient: RegisterService {
    private typealias Client = GRPCClient<HTTP2ClientTransport.Posix>

    private let credentials: FleetCredentials
    /// The member in use.
    private var member: Int
    private var requests: Connection?
    private var watch: Watch?
    /// The day of the lease that was granted last.
    private var leaseDay: Int64 = 0
    /// A number by which machines share the leases of a day, since etcd looks at all keys of one with every use.
    private let leaseNumber = Int64.random(in: 0..<64)

    /// The time to wait for an answer.
    private static let timeout: Duration = .seconds(5)
    /// The number of registers in an answer, so that the largest ones fit.
    private static let page: Int64 = 50
    /// The lifetime of temporary registers.
    private static let leaseDays: Int64 = 90
    /// The identifier of the first day's lease; those of other programs are random.
    private static let firstLease: Int64 = 0x6465_6661_0000_0000

    init(_ credentials: FleetCredentials) {
        self.credentials = credentials
        // Not all machines use the same member.
        member = Int.random(in: 0..<max(1, credentials.endpoints.count))
    }

    /// Closes the connections; the next request goes to another member.
    func disconnect() {
        (requests, watch) = (nil, nil)
        member = (member + 1) % max(1, credentials.endpoints.count)
    }

    // MARK: Registers

    func range(_ prefix: String) throws(RegisterFailure) -> RegisterRange {
        let (pairs, revision, service) = try pairs(Etcdserverpb_RangeRequest(prefix))
        return RegisterRange(pairs.map { Register($0) }, revision: revision, service: service)
    }

    func revisions(_ prefix: String) throws(RegisterFailure) -> RegisterRevisions {
        var request = Etcdserverpb_RangeRequest(prefix)
        request.keysOnly = true
        let (pairs, revision, service) = try pairs(request)
        let revisions = Dictionary(pairs.map { (Register($0).name, $0.modRevision) }) { $1 }
        return RegisterRevisions(revisions, revision: revision, service: service)
    }

    /// Returns all pairs of a range, as of one revision, with that and the service's identifier.
    private func pairs(
        _ request: Etcdserverpb_RangeRequest
    ) throws(RegisterFailure) -> (pairs: [Etcdserverpb_KeyValue], revision: Int64, service: UInt64) {
        var request = request
        request.limit = Self.page
        var pairs: [Etcdserverpb_KeyValue] = []
        while true {
            let page = try read(.range, with: request)
            pairs += page.kvs
            if request.revision == 0 { request.revision = page.header.revision }
            guard page.more, let last = page.kvs.last else {
                return (pairs, request.revision, page.header.clusterID)
            }
            request.key = last.key + [0]
        }
    }

    func register(_ name: String) throws(RegisterFailure) -> Register? {
        var request = Etcdserverpb_RangeRequest()
        request.key = FleetData(name)
        return try read(.range, with: request).kvs.first.map { Register($0) }
    }

    func write(
        _ writes: [RegisterWrite], expecting expected: [String: Int64]
    ) throws(RegisterFailure) -> Int64? {
        var request = Etcdserverpb_TxnRequest()
        let lease = writes.contains(where: \.isTemporary) ? try lease() : 0
        request.compare = expected.map { name, revision in
            .with {
                // Compare.MOD, and Compare.EQUAL.
                ($0.key, $0.target, $0.result) = (FleetData(name), 2, 0)
                $0.modRevision = revision
            }
        }
        request.success = writes.map { write in
            .with { operation in
                if let contents = write.contents {
                    operation.requestPut = .with {
                        ($0.key, $0.value) = (FleetData(write.name), FleetData(contents))
                        $0.lease = write.isTemporary ? lease : 0
                    }
                } else {
                    operation.requestDeleteRange = .with { $0.key = FleetData(write.name) }
                }
            }
        }
        let answer = try call(.transaction, with: request)
        return answer.succeeded ? answer.header.revision : nil
    }

    private static func firstLease(of role: FleetCredentials.Role) -> Int64 {
        switch role {
        case .receiver: 0
        case .operator: 1 << 24
        }
    }

    /// Returns today's lease, which all machines share, after it was granted if need be.
    private func lease() throws(RegisterFailure) -> Int64 {
        let day = Int64(time(nil)) / 86_400
        // A client may use a lease only if it may write all of the lease's keys.
        let id = Self.firstLease + Self.firstLease(of: credentials.role) + day * 64 + leaseNumber
        if day == leaseDay { return id }
        do throws(RegisterFailure) {
            _ = try call(.grantLease, with: .with { ($0.id, $0.ttl) = (id, Self.leaseDays * 86_400) })
        } catch {
            guard case .refused(let reason) = error, reason.contains("lease already exists") else { throw error }
        }
        leaseDay = day
        return id
    }

    // MARK: Requests

    /// Makes a request that changes nothing, of one member after the other until one answers.
    private func read<Request, Answer>(
        _ method: EtcdMethod<Request, Answer>, with request: Request
    ) throws(RegisterFailure) -> Answer {
        for _ in credentials.endpoints {
            do throws(RegisterFailure) { return try call(method, with: request) } catch {
                guard case .unavailable = error else { throw error }
            }
        }
        return try call(method, with: request)
    }

    /// Makes a request, and waits for the answer.
    func call<Request, Answer>(
        _ method: EtcdMethod<Request, Answer>, with request: Request
    ) throws(RegisterFailure) -> Answer {
        let connection: Connection
        if let requests { connection = requests } else { connection = try connect() }
        requests = connection
        let client = connection.client
        let result = Self.wait { () async -> Result<Answer, RegisterFailure> in
            do {
                return .success(
                    try await client.unary(
                        request: ClientRequest(message: request), descriptor: method.descriptor,
                        serializer: ProtobufSerializer(), deserializer: ProtobufDeserializer(),
                        options: .etcd(timeout: Self.timeout), onResponse: { try $0.message }))
            } catch {
                return .failure(RegisterFailure(error))
            }
        }
        if case .failure(let failure) = result {
            // The service may have lost the lease, as when a backup was restored.
            leaseDay = 0
            if case .unavailable = failure { disconnect() }
        }
        return try result.get()
    }

    /// Runs something asynchronous, and waits for it on this thread.
    private static func wait<Answer: Sendable>(_ body: @escaping @Sendable () async -> Answer) -> Answer {
        let semaphore = DispatchSemaphore(value: 0)
        let answer = ForkSafeMutex<Answer?>(nil)
        Task.detached {
            let value = await body()
            answer.withLock { $0 = value }
            semaphore.signal()
        }
        while true {
            semaphore.wait()
            if let value = answer.withLock({ $0 }) { return value }
        }
    }

    private func connect() throws(RegisterFailure) -> Connection {
        guard credentials.endpoints.indices.contains(member) else { throw .refused("There is no etcd member.") }
        // etcd wouldn't say why it refuses the certificate.
        if let day = FleetAuthority.expiry(of: credentials.certificate) { throw .expired(day) }
        do { return try Connection(to: credentials.endpoints[member], with: credentials) } catch {
            throw RegisterFailure(error)
        }
    }

    /// A connection to a member, which ends with this object.
    private final class Connection: Sendable {
        let client: Client
        private let task: Task<Void, Never>

        init(to endpoint: FleetCredentials.Endpoint, with credentials: FleetCredentials) throws {
            var config = HTTP2ClientTransport.Posix.Config.defaults
            config.http2.authority = FleetCredentials.serverName
            // etcd accepts pings every five seconds at most.
            config.connection.keepalive = .init(
                time: .seconds(10), timeout: .seconds(5), allowWithoutCalls: true)
            config.backoff = .init(initial: .milliseconds(200), max: .seconds(5), multiplier: 1.6, jitter: 0.2)
            let transport = try HTTP2ClientTransport.Posix(
                target: .dns(host: endpoint.host, port: endpoint.port),
                transportSecurity: .mTLS(
                    certificateChain: [.bytes(credentials.certificate, format: .pem)],
                    privateKey: .bytes(credentials.privateKey, format: .pem)
                ) { $0.trustRoots = .certificates([.bytes(credentials.authority, format: .pem)]) },
                config: config)
            let client = GRPCClient(transport: transport)
            self.client = client
            task = Task.detached { try? await client.runConnections() }
        }

        deinit {
            client.beginGracefulShutdown()
            task.cancel()
        }
    }

    // MARK: The watch

    func watch(_ prefix: String, after revision: Int64) throws(RegisterFailure) {
        watch = nil
        watch = Watch(prefix, after: revision, on: try connect())
    }

    var eventDescriptor: Int32 { watch?.descriptor ?? -1 }

    func nextEvent(within milliseconds: Int32) throws(RegisterFailure) -> RegisterEvent? {
        guard let watch else { throw .unavailable("The watch has ended.") }
        do throws(RegisterFailure) { return try watch.next(within: milliseconds) } catch {
            disconnect()
            throw error
        }
    }

    /// A watch of registers, which ends with this object.
    private final class Watch {
        private let events = EventQueue()
        private let task: Task<Void, Never>
        private let connection: Connection

        init(_ prefix: String, after revision: Int64, on connection: Connection) {
            self.connection = connection
            let watch = Etcdserverpb_WatchRequest.with {
                $0.createRequest.key = FleetData(prefix)
                $0.createRequest.rangeEnd = EtcdRange.end(of: prefix)
                $0.createRequest.startRevision = revision + 1
            }
            task = Task.detached { [client = connection.client, events] in
                // A member that has lost its leader ends the watch then, instead of staying silent.
                let request = StreamingClientRequest(metadata: ["hasleader": "true"]) { writer in
                    try await writer.write(watch)
                    // The stream of requests stays open until the watch ends.
                    while true { try await Task.sleep(for: .seconds(3_600)) }
                }
                do {
                    let method = EtcdMethod.watch
                    try await client.bidirectionalStreaming(
                        request: request, descriptor: method.descriptor, serializer: ProtobufSerializer(),
                        deserializer: ProtobufDeserializer<Etcdserverpb_WatchResponse>(), options: .etcd(timeout: nil)
                    ) { response in
                        for try await message in response.messages { try events.add(message) }
                    }
                    events.end(.unavailable("etcd has ended the watch."))
                } catch { events.end(RegisterFailure(error)) }
            }
        }

        deinit { task.cancel() }

        var descriptor: Int32 { events.descriptor }

        func next(within milliseconds: Int32) throws(RegisterFailure) -> RegisterEvent? {
            try events.next(within: milliseconds)
        }
    }
}

// MARK: Values

typealias FleetData = Data

extension Data {
    init(_ text: String) { self.init(text.utf8) }
}

/// The ranges of etcd's keys.
enum EtcdRange {
    /// Returns the end of the keys that begin with a prefix, which must not end with the largest byte.
    static func end(of prefix: String) -> Data {
        var bytes = Array(prefix.utf8)
        bytes[bytes.count - 1] += 1
        return Data(bytes)
    }
}

extension CallOptions {
    fileprivate static func etcd(timeout: Duration?) -> CallOptions {
        var options = CallOptions.defaults
        options.timeout = timeout
        options.waitForReady = false
        options.maxResponseMessageBytes = 64 << 20
        return options
    }
}

extension RegisterFailure {
    init(_ error: any Error) {
        if let failure = error as? RegisterFailure {
            self = failure
            return
        }
        guard let error = error as? RPCError else {
            self = .unavailable("\(error)")
            return
        }
        let message = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        let reason = ([message] + (error.cause.map { [Self.cause($0)] } ?? [])).joined(separator: ": ")
        switch error.code {
        case .invalidArgument, .permissionDenied, .unauthenticated, .failedPrecondition, .outOfRange,
            .resourceExhausted, .notFound, .alreadyExists, .unimplemented:
            self = .refused(reason)
        default: self = .unavailable(reason)
        }
    }

    /// Returns a cause as people know it.
    private static func cause(_ error: any Error) -> String {
        switch error {
        case let error as IOError: SystemCall.message(error.errnoCode)
        case let error as RPCError: error.cause.map(cause) ?? error.message
        default: "\(error)"
        }
    }
}

extension Register {
    init(_ pair: Etcdserverpb_KeyValue) {
        self.init(String(decoding: pair.key, as: UTF8.self), Array(pair.value), revision: pair.modRevision)
    }
}

extension Etcdserverpb_RangeRequest {
    /// Creates the request for all registers whose names begin with a prefix.
    fileprivate init(_ prefix: String) {
        self.init()
        key = FleetData(prefix)
        rangeEnd = EtcdRange.end(of: prefix)
    }
}
#endif
