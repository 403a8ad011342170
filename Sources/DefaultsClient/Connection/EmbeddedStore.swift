package import DefaultsCore
import Glibc
import Linux

/// The store of a process without an agent, which uses the same files and the same lock as an agent's.
package final class EmbeddedStore: Backend {
    let store: Store
    private let identity: AppIdentity
    private let copies = CopyRecorder()
    /// The socket of an agent that may have started since; `nil` if no agent is notified of saves.
    private let address: AgentAddress?

    /// Creates a store for a user's directory and the system directories.
    ///
    /// - Parameters:
    ///   - directory: The user's preferences directory.
    ///   - system: The system directories.
    ///   - capacity: The capacity of the change log, from which subscriptions read.
    ///   - mayReplaceDamage: Whether a damaged file may be replaced after a backup.
    ///   - address: The socket of an agent that may have started since; `nil` if no agent is notified of saves.
    package init(
        _ directory: PreferencesDirectory, system: SystemDirectories = SystemDirectories(environment: .current),
        logCapacity capacity: ChangeLog.Capacity = .init(records: 1), mayReplaceDamage: Bool = true,
        tellingAgentAt address: AgentAddress? = nil
    ) {
        self.address = address
        self.store = Store(
            directory: directory, system: system, log: ChangeLog(capacity: capacity), lifetime: .transient,
            replacesDamagedFiles: mayReplaceDamage)
        self.identity = .current
        store.observe(with: copies)
    }

    /// Removes and returns the paths of the backup copies made since the last call.
    ///
    /// The copies hold content that couldn't be read, merged or preserved.
    package func dequeueCopies() -> [String] { copies.dequeue() }

    package var system: SystemDirectories { store.system }

    package func snapshot(of domain: Domain, keys: [String]?) throws(DefaultsError) -> DomainSnapshot {
        reload(domain)
        return store.snapshot(of: domain).only(keys)
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        _ = try store.reloadAll(losses: .believe, isBaseline: true)
        return store.domains()
    }

    package func snapshots() throws(DefaultsError) -> [DomainSnapshot] {
        _ = try store.reloadAll(losses: .believe, isBaseline: true)
        return store.snapshots()
    }

    package func edit(
        _ domain: Domain, with values: Difference, replacesAll: Bool, expecting expected: Difference?, origin: Origin?
    ) throws(DefaultsError) {
        let request = EditRequest(
            domain: domain, values: values, replacesAll: replacesAll, writer: .app(identity), expecting: expected,
            origin: origin)
        reload(domain)
        if expected == nil { _ = try store.submit(request) } else { _ = try store.commit(request) }
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        try store.save(domain)
        // Another program may have opened the file just before it was replaced. An agent would examine the displaced
        // file again later, but this process may end, so it waits now. After three seconds, the displaced file keeps
        // its hidden name, and the next process finds it.
        var backoff = Backoff(from: .milliseconds(20), to: .milliseconds(20), timeout: .seconds(3))
        while store.examineDisplaced(), backoff.wait() {
            // The displaced file is removed only after the writer's changes are saved.
            try store.save(domain)
        }
        try store.save(domain)
        notifyAgent(of: domain)
    }

    /// Makes an agent that has started in the meantime reload the file, before other clients ask it for the values.
    ///
    /// An agent that starts later reads all files, and their changes, before it listens.
    private func notifyAgent(of domain: Domain) {
        guard let address,
            let agent = try? AgentConnection.open(address, for: store.directory, timeouts: .notification)
        else { return }
        _ = try? agent.barrier([domain])
    }

    /// Reloads a domain's file.
    ///
    /// Waits up to one second if a program is writing to the file, and then reads it anyway.
    ///
    /// - Parameters:
    ///   - domain: The domain whose file to read.
    ///   - isBaseline: Whether the contents of a file that this store hasn't read before count as the initial state,
    ///     and not as a change.
    func reload(_ domain: Domain, isBaseline: Bool = true) {
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(50), timeout: .seconds(1))
        repeat {
            if store.reload([domain], losses: .believe, isBaseline: isBaseline).beingWritten.isEmpty { return }
        } while backoff.wait()
        _ = store.reload([domain], openWriters: .readAnyway, losses: .believe, isBaseline: isBaseline)
    }
}

/// An observer that collects the paths of the backup copies that an embedded store makes.
final class CopyRecorder: StoreObserver {
    /// The paths; nothing is called under the lock.
    private let paths = ForkSafeMutex<[String]>([])

    /// Removes and returns the paths added since the last call.
    func dequeue() -> [String] {
        paths.withLock { paths in
            defer { paths = [] }
            return paths
        }
    }

    func storePublished(in domain: Domain) {}
    func storeNeedsSaving(_ domain: Domain, urgency timing: SaveTiming) {}
    func storeReported(_ event: LogRecord.Event) {}
    func storeLostLog(_ error: DefaultsError) {}
    func storeNeedsMaintenance() {}
    func storeMadeCopy(_ copy: String) { paths.withLock { $0.append(copy) } }
}
