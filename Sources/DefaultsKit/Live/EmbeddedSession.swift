import DefaultsCore
import Glibc

/// A session with a store of the process's own, on the same files and under the same lock as an agent's.
///
/// Nobody watches the files: they are looked at when asked for.
final class EmbeddedSession: Session {
    let system: SystemDirectories
    private let store: Store
    private let embedded: EmbeddedStore
    private var names: Set<DomainName> = []
    /// The changes of the names; `nil` before the first.
    private var subscription: Subscription?
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

    func begin(_ start: SessionStart) { follow(start.resumed + start.followed) }

    func follow(_ new: [DomainName]) {
        if new.isEmpty { return }
        for domain in domains(named: Set(new)) { embedded.look(at: domain) }
        if subscription == nil {
            let filter = SubscriptionFilter(domains: [GlobPattern.exactly(new[0].description)])
            subscription = store.subscribe(.now, filter: filter, mode: .everything)
        }
        // This thread alone changes the store: then the subscription is caught up.
        takeChanges()
        guard let (cursor, snapshots) = store.widen(&subscription, by: new) else { return }
        // What was to come of those that begin again is in their values.
        let again = names.intersection(new)
        if !again.isEmpty {
            events.removeAll { if case .stream(let name, _) = $0 { again.contains(name) } else { false } }
        }
        names.formUnion(new)
        events += snapshots.map { .stream($0.domain.name, .initial($0)) }
        events += new.map { .stream($0, .bookmark(cursor)) }
    }

    func leave(_ gone: [DomainName]) {
        subscription?.narrow(by: gone)
        names.subtract(gone)
    }

    /// The domains of names: those that may be searched, and those of other hosts.
    private func domains(named names: Set<DomainName>) -> Set<Domain> {
        let present = (try? store.directory.domains(in: Domain.hostDirectory, of: .current)) ?? []
        return Set(names.flatMap { Domain.all(named: $0, in: system) } + present.filter { names.contains($0.name) })
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
        takeChanges()
        events.append(.accepted(number))
        publishSoon()
    }

    func commit(_ request: EditRequest) {
        var failure: DefaultsError?
        do throws(DefaultsError) {
            _ = try store.commit(request)
            // An edit that can't be saved is in force, and is retried like any other.
            do throws(DefaultsError) { try embedded.synchronize(request.domain) } catch {
                edited.insert(request.domain)
                events.append(.unsaved(request.domain))
                publishSoon()
            }
        } catch {
            failure = error
        }
        takeChanges()
        events.append(.committed(request.identity?.number ?? 0, failure))
    }

    private func publishSoon() {
        let now = MonotonicTime.now()
        let limit = publication?.limit ?? now + Self.publishLimit
        publication = (min(now + Self.publishDelay, limit), limit)
    }

    func look() {
        for domain in domains(named: names) { embedded.look(at: domain, isBaseline: false) }
        takeChanges()
    }

    func synchronize(_ domains: [Domain], _ number: UInt64) {
        look()
        let failures = publish()
        takeChanges()
        events.append(.synchronized(number, failures: failures))
    }

    func handOver() { _ = publish() }

    func take() -> [SessionEvent] {
        if let due = publication?.due, due <= .now() { _ = publish() }
        takeChanges()
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

    private func takeChanges() {
        guard var subscription else { return }
        // It alone is to hold its names while they are changed.
        self.subscription = nil
        defer { self.subscription = subscription }
        while true {
            let (taken, snapshots) = store.next(for: &subscription)
            if taken.isEmpty { break }
            for event in taken {
                switch event {
                case .record(let record, let cursor):
                    events.append(.stream(record.domain.name, .record(record, cursor: cursor)))
                case .gap(let from, let to): events += names.map { .stream($0, .gap(from: from, to: to)) }
                case .snapshotDue: events += snapshots.map { .stream($0.domain.name, .initial($0)) }
                case .bookmark(let cursor): events += names.map { .stream($0, .bookmark(cursor)) }
                case .ended: break
                }
            }
        }
    }

    func end() {
        // No other session is asked for conditional edits that couldn't be saved.
        if publication != nil { _ = publish() }
        _ = store.examineDisplaced()
    }
}
