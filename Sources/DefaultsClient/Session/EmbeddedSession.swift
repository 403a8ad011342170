import DefaultsCore
import Linux

/// A session with the process's own store, which uses the same files and the same lock as an agent's.
///
/// It doesn't watch the files; `reload` reads the files that changed.
final class EmbeddedSession: Session {
    let system: SystemDirectories
    private let store: Store
    private let embedded: EmbeddedStore
    private var names: Set<DomainName> = []
    /// The subscription to the names' changes; `nil` before the first name.
    private var subscription: Subscription?
    private var events: [SessionEvent] = []
    /// The time of the next save, and the time until which further edits may delay it.
    private var nextSave: (due: MonotonicTime, limit: MonotonicTime)?
    private var lastEdit: UInt64 = 0
    /// The domains with edits that haven't been reported as saved.
    private var edited: Set<Domain> = []
    /// The delay before failed saves are retried, which is one second after the first failure, since a failure doubles
    /// it.
    private var backoff = SaveBackoff(first: .milliseconds(500))

    /// The time from the last edit to the save that includes it, in milliseconds.
    private static let saveDelay: Int64 = 10
    /// The maximum time from the first edit to the save, in milliseconds.
    private static let saveLimit: Int64 = 1_000

    /// Creates a session, and its store, for a directory.
    init(_ directory: PreferencesDirectory, system: SystemDirectories) {
        self.embedded = EmbeddedStore(directory, system: system, logCapacity: .init(records: 4_096, bytes: 4 << 20))
        self.store = embedded.store
        self.system = store.system
    }

    var deadline: MonotonicTime? { events.isEmpty ? nextSave?.due : .now() }

    func begin(_ start: SessionStart) { follow(start.resumed + start.followed) }

    func follow(_ new: [DomainName]) {
        if new.isEmpty { return }
        for domain in domains(named: Set(new)) { embedded.reload(domain) }
        if subscription == nil {
            let filter = SubscriptionFilter(domains: [GlobPattern.exactly(new[0].description)])
            subscription = store.subscribe(.now, filter: filter, mode: .everything)
        }
        // Only this thread changes the store, so afterwards the subscription is at the end of the log.
        receiveChanges()
        guard let (cursor, snapshots) = store.widen(&subscription, by: new) else { return }
        // For names that start over, the snapshots already include the pending events.
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

    /// Returns the domains with some names, both those that may be searched and those of other hosts.
    private func domains(named names: Set<DomainName>) -> Set<Domain> {
        let present = (try? store.directory.domains(in: Domain.hostDirectory, of: .current)) ?? []
        return Set(names.flatMap { Domain.all(named: $0, in: system) } + present.filter { names.contains($0.name) })
    }

    func edit(_ request: EditRequest) {
        let number = request.identity?.number ?? 0
        lastEdit = number
        do throws(DefaultsError) { _ = try store.submit(request) } catch {
            events.append(.refused(number, error))
            return
        }
        edited.insert(request.domain)
        receiveChanges()
        events.append(.accepted(number))
        saveSoon()
    }

    func commit(_ request: EditRequest) {
        var failure: DefaultsError?
        do throws(DefaultsError) {
            _ = try store.commit(request)
            // An edit that can't be saved is in effect, and is retried like any other.
            do throws(DefaultsError) { try embedded.synchronize(request.domain) } catch {
                edited.insert(request.domain)
                events.append(.unsaved(request.domain))
                saveSoon()
            }
        } catch {
            failure = error
        }
        receiveChanges()
        events.append(.committed(request.identity?.number ?? 0, failure))
    }

    private func saveSoon() {
        let now = MonotonicTime.now()
        let limit = nextSave?.limit ?? now + Self.saveLimit
        nextSave = (min(now + Self.saveDelay, limit), limit)
    }

    /// Reloads the files, which have no watcher.
    func reload() {
        for domain in domains(named: names) { embedded.reload(domain, isBaseline: false) }
        receiveChanges()
    }

    func synchronize(_ domains: [Domain], as number: UInt64) {
        reload()
        let failures = save()
        receiveChanges()
        events.append(.synchronized(number, failures: failures))
    }

    func handOver() { _ = save() }

    func receiveEvents() -> [SessionEvent] {
        if let due = nextSave?.due, due <= .now() { _ = save() }
        receiveChanges()
        defer { events = [] }
        return events
    }

    /// Saves all pending edits.
    ///
    /// Failed saves are retried after a delay.
    ///
    /// - Returns: The reasons why edits couldn't be saved.
    private func save() -> [DefaultsError] {
        nextSave = nil
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
        events += embedded.dequeueCopies().map { .trouble(DefaultsError(.damaged, BackupFile.message(ofCopy: $0))) }
        events += backoff.record(failures)
        if !failures.isEmpty {
            let due = MonotonicTime.now() + backoff.delay
            nextSave = (due, due)
        }
        return failures
    }

    private func receiveChanges() {
        guard var subscription else { return }
        // Let the local variable hold the only reference to the subscription's names, so that changes don't copy them.
        self.subscription = nil
        defer { self.subscription = subscription }
        while true {
            let received = store.next(for: &subscription)
            if received.isEmpty { break }
            for event in received {
                switch event {
                case .record(let record, _): events.append(.stream(record.domain.name, event))
                case .initial(let snapshot): events.append(.stream(snapshot.domain.name, event))
                case .gap, .bookmark: events += names.map { .stream($0, event) }
                case .ended: break
                }
            }
        }
    }

    /// Ends the session, after finishing work that the next session can't take over.
    func end() {
        // Conditional edits that couldn't be saved aren't passed to the next session, so save them here.
        if nextSave != nil { _ = save() }
        _ = store.examineDisplaced()
    }
}
