package import DefaultsCore
import Glibc

/// The store that a process uses on its own where no agent runs, on the same files and under the same lock.
package final class EmbeddedStore: Backend {
    let store: Store
    private let identity: AppIdentity
    private let copies = KeptCopies()
    /// Where an agent may have started since this store was made; `nil` where none is to know of what is saved.
    private let address: AgentAddress?

    /// The time for an agent that has started meanwhile to learn of a save, which is durable without it.
    private static let patience = AgentPatience(2_000)

    /// Makes a store of a directory, and of those that hold domains for every user.
    ///
    /// - Parameters:
    ///   - directory: the user's preferences.
    ///   - system: the layers below them.
    ///   - capacity: how much of the change log is kept, for who reads it.
    ///   - mayReplaceDamage: whether a file that is no property list may be replaced once it is copied aside.
    ///   - address: where an agent may have started since none was found; `nil` where none is to know of what is saved.
    package init(
        _ directory: PreferencesDirectory, system: SystemDirectories = SystemDirectories(environment: .current),
        keeping capacity: ChangeLog.Capacity = .init(records: 1), mayReplaceDamage: Bool = true,
        tellingAgentAt address: AgentAddress? = nil
    ) {
        self.address = address
        self.store = Store(
            directory: directory, system: system, log: ChangeLog(capacity: capacity), publisher: .passing,
            mayReplaceDamage: mayReplaceDamage)
        self.identity = .current
        store.observe(with: copies)
    }

    /// The copies of files that were kept beside them since this was last asked: what can't be read, or merged.
    package func takeCopies() -> [String] { copies.take() }

    /// What is said of such a copy.
    package static func message(ofCopy path: String) -> String {
        "Content that could not be merged was saved to \(path)."
    }

    package var system: SystemDirectories { store.system }

    package func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot {
        look(at: domain)
        return store.snapshot(of: domain)
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        _ = try store.lookAtAll(haste: .settle, isBaseline: true)
        return store.domains()
    }

    package func snapshots() throws(DefaultsError) -> [DomainSnapshot] {
        _ = try store.lookAtAll(haste: .settle, isBaseline: true)
        return store.snapshots()
    }

    package func edit(
        _ domain: Domain, _ values: Difference, replacesAll: Bool, expecting expected: Difference?
    ) throws(DefaultsError) {
        let request = EditRequest(
            domain: domain, values: values, replacesAll: replacesAll, writer: .app(identity), expecting: expected)
        look(at: domain)
        if expected == nil { _ = try store.submit(request) } else { _ = try store.commit(request) }
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        try store.publish(domain)
        // Who opened the file just before it was replaced is waited for now, since no one stays to look a second later.
        // Who is still not done keeps its version, under the hidden name, for the next process to find.
        var waited: Int32 = 0
        while store.examineDisplaced(), waited < 3_000 {
            // It is let go once what was written to it is saved.
            try store.publish(domain)
            poll(nil, 0, 20)
            waited += 20
        }
        try store.publish(domain)
        tellAgent(of: domain)
    }

    /// Has an agent that has started meanwhile read the file, before others ask it for the values.
    ///
    /// One that starts later reads all files first, and what changed until it listened.
    private func tellAgent(of domain: Domain) {
        guard let address, let agent = try? AgentConnection.open(address, for: store.directory, patience: Self.patience)
        else { return }
        _ = try? agent.barrier([domain])
    }

    /// Looks at the file; one that is being written is waited for, a second at most.
    ///
    /// - Parameters:
    ///   - domain: whose file.
    ///   - isBaseline: whether a file that was never seen is no change. To who knows that there was none it is one.
    func look(at domain: Domain, isBaseline: Bool = true) {
        var pause: Int32 = 1
        var waited: Int32 = 0
        while waited < 1_000 {
            if store.look(at: [domain], haste: .settle, isBaseline: isBaseline).beingWritten.isEmpty { return }
            poll(nil, 0, pause)
            waited += pause
            pause = min(pause * 2, 50)
        }
        _ = store.look(at: [domain], patience: .insist, haste: .settle, isBaseline: isBaseline)
    }
}
