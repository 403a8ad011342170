#if Fleet
import DefaultsClient
import DefaultsCore
import Fleet
import Glibc
import Linux

/// The agent of this machine, through two connections: one for the stream of changes, and one for requests.
final class AgentClient: FleetAgent {
    private let changes: AgentConnection
    private let requests: AgentConnection
    private let directory: PreferencesDirectory

    /// Connects to the agent of the environment's directory; fails if no agent answers.
    init?(_ environment: Environment) throws(DefaultsError) {
        directory = try PreferencesDirectory(environment: environment)
        let address = try AgentAddress(for: directory, environment: environment)
        guard let changes = try AgentConnection.open(address, for: directory),
            let requests = try AgentConnection.open(address, for: directory)
        else { return nil }
        (self.changes, self.requests) = (changes, requests)
    }

    /// The sockets, for `poll`: one of them is readable when there are changes, or when the agent has ended.
    var awaited: [pollfd] { [changes.socket.awaited, requests.socket.awaited] }

    var now: Timestamp { .now() }

    func subscribe(after cursor: Cursor) throws(DefaultsError) {
        _ = try changes.subscribe(.after(cursor), filter: SubscriptionFilter(), mode: .everything)
    }

    func nextEvent(within milliseconds: Int32) throws(DefaultsError) -> StreamEvent? {
        try changes.nextEvent(within: milliseconds)
    }

    func snapshot(of domain: DomainName) throws(DefaultsError) -> DomainSnapshot {
        try requests.snapshot(of: Domain(domain), keys: nil)
    }

    func domains() throws(DefaultsError) -> [DomainName] {
        try requests.domains().filter { $0.user == .current && $0.host == .any }.map(\.name)
    }

    func barrier(of domain: DomainName?) throws(DefaultsError) -> Cursor {
        try requests.barrier(domain.map { [Domain($0)] } ?? []).cursor
    }

    func set(
        _ values: Difference, of domain: DomainName, expecting expected: Difference?, purpose: Origin.Purpose?
    ) throws(DefaultsError) -> Cursor {
        try requests.make(
            EditRequest(
                domain: Domain(domain), values: values, writer: .app(.current), expecting: expected,
                origin: purpose.map { Origin(purpose: $0) }))
    }

    func fileTime(of domain: DomainName) -> Timestamp? {
        (try? FileStatus(at: directory.path(of: Domain(domain)))).map { Timestamp($0.st_ctim) }
    }
}
#endif
