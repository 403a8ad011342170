import DefaultsCore
import Linux

/// The domains of a client that exist only in memory, with their history.
final class MemoryHistory: HistorySource {
    private let client: Client
    let end: Cursor
    var system: SystemDirectories { .none }

    /// Creates the history; fails if the client's domains have files.
    init?(_ client: Client) {
        guard let end = client.state.withLock({ $0.ownLog?.cursor }) else { return nil }
        (self.client, self.end) = (client, end)
    }

    func history(_ request: HistoryRequest) -> HistoryPage {
        let log = client.state.withLock { $0.ownLog } ?? ChangeLog()
        return log.page(request, without: HistoryExclusions())
    }

    func make(_ edit: EditRequest) throws(DefaultsError) -> Cursor {
        for (key, value) in edit.values { try EditRequest.check(key, with: value, for: edit.domain) }
        let made = client.transition { state in
            var values = edit.values
            if edit.replacesAll {
                for key in state.values(of: edit.domain).keys where values[key] == nil { values[key] = .some(nil) }
            }
            let commit = Commit(
                domain: edit.domain, values: values, expected: edit.expecting ?? [:], origin: edit.origin)
            let (isMade, effects) = state.commit(commit, at: .now())
            return (isMade ? state.ownLog?.cursor : nil, effects)
        }
        guard let made else { throw .condition(of: edit.domain) }
        return made
    }

    func snapshot(of domain: Domain, keys: [String]?) -> DomainSnapshot {
        DomainSnapshot(domain: domain, values: client.values(of: domain), cursor: end).only(keys)
    }

    func domains() throws(DefaultsError) -> [Domain] { try client.domains(of: .current) }

    func snapshots() throws(DefaultsError) -> [DomainSnapshot] {
        try domains().map { snapshot(of: $0, keys: nil) }
    }

    func synchronize(_ domain: Domain) {}
}
