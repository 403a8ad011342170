import DefaultsCore
import Glibc

/// A session with a store of the process's own, on the same files and under the same lock as an agent's.
///
/// Nobody watches the files: they are looked at when asked for.
final class EmbeddedSession: Session {
    let system: SystemDirectories
    private let store: Store
    private let embedded: EmbeddedStore
    private var streams: [(name: DomainName, subscription: Subscription)] = []
    private var events: [SessionEvent] = []
    /// When edits are to be published, and by when at the latest.
    private var publication: (due: MonotonicTime, limit: MonotonicTime)?
    private var lastEdit: UInt64 = 0
    /// The domains with edits that haven't been said to be saved.
    private var edited: Set<Domain> = []
    /// The first failure is tried again after a second.
    private var pace = SavingPace(first: 500)

    /// Edits are published together this long after the last one, and this long after the first one at the latest, in
    /// milliseconds.
    private static let publishDelay: Int64 = 10
    private static let publishLimit: Int64 = 1_000

    /// Makes a store for a directory.
    init(_ directory: PreferencesDirectory, system: SystemDirectories) {
        self.embedded = EmbeddedStore(directory, system: system, keeping: .init(records: 4_096, bytes: 4 << 20))
        self.store = embedded.store
        self.system = store.system
    }

    var awaited: pollfd { pollfd(fd: -1, events: 0, revents: 0) }

    var deadline: MonotonicTime? { events.isEmpty ? publication?.due : .now() }

    func subscribe(to name: DomainName, _ start: Subscription.Start) {
        streams.removeAll { $0.name == name }
        for domain in domains(named: name) { embedded.look(at: domain) }
        let filter = SubscriptionFilter(domains: [GlobPattern.exactly(name.description)])
        streams.append((name, store.subscribe(start, filter: filter, mode: .everything)))
    }

    /// The domains of a name: those that may be searched, and those of other hosts.
    private func domains(named name: DomainName) -> Set<Domain> {
        let present = (try? store.directory.domains(in: Domain.hostDirectory, of: .current)) ?? []
        return Set(Domain.all(named: name, in: system)).union(present.filter { $0.name == name })
    }

    func edit(_ request: EditRequest) {
        let number = request.identity?.number ?? 0
        lastEdit = number
        do throws(DefaultsError) { try request.check() } catch {
            events.append(.refused(number, error))
            return
        }
        if let refusal = store.refusal(of: request.domain) {
            events.append(.refused(number, refusal))
            return
        }
        edited.insert(request.domain)
        store.edit(request)
        takeStreams()
        events.append(.accepted(number))
        let now = MonotonicTime.now()
        let limit = publication?.limit ?? now + Self.publishLimit
        publication = (min(now + Self.publishDelay, limit), limit)
    }

    func look() {
        for (name, _) in streams {
            for domain in domains(named: name) { embedded.look(at: domain, isBaseline: false) }
        }
        takeStreams()
    }

    func synchronize(_ domains: [Domain], _ number: UInt64) {
        look()
        let failures = publish()
        takeStreams()
        events.append(.synchronized(number, failures: failures))
    }

    func handOver() { _ = publish() }

    func take() -> [SessionEvent] {
        if let due = publication?.due, due <= .now() { _ = publish() }
        takeStreams()
        defer { events = [] }
        return events
    }

    /// Publishes what is pending.
    ///
    /// What fails is tried again after a while.
    private func publish() -> [DefaultsError] {
        publication = nil
        var failures: [DefaultsError] = []
        let pending = Set(store.pending().map(\.domain))
        for domain in pending.union(edited).sorted() {
            do throws(DefaultsError) {
                if pending.contains(domain) { try embedded.synchronize(domain) }
                edited.remove(domain)
                events.append(.saved(domain, lastEdit))
            } catch {
                failures.append(error)
            }
        }
        events += embedded.takeCopies().map { .trouble(DefaultsError(.damaged, EmbeddedStore.message(ofCopy: $0))) }
        events += pace.note(failures)
        if !failures.isEmpty {
            let due = MonotonicTime.now() + pace.pause
            publication = (due, due)
        }
        return failures
    }

    private func takeStreams() {
        for index in streams.indices {
            while true {
                let name = streams[index].name
                let (taken, snapshots) = store.next(for: &streams[index].subscription)
                if taken.isEmpty { break }
                for event in taken {
                    switch event {
                    case .record(let record, let cursor): events.append(.stream(name, .record(record, cursor: cursor)))
                    case .gap(let from, let to): events.append(.stream(name, .gap(from: from, to: to)))
                    case .snapshotDue: events += snapshots.map { .stream(name, .initial($0)) }
                    case .bookmark(let cursor): events.append(.stream(name, .bookmark(cursor)))
                    case .ended: events.append(.stream(name, .ended))
                    }
                }
            }
        }
    }

    func end() {
        _ = store.examineDisplaced()
    }
}
