package import DefaultsCore
import Glibc

/// The store that a process uses on its own where no agent runs, on the same files and under the same lock.
package final class EmbeddedStore: Backend {
    private let store: Store
    private let identity: AppIdentity

    package init(_ directory: PreferencesDirectory) {
        self.store = Store(directory: directory, log: ChangeLog(capacity: .init(records: 1)))
        self.identity = .current
    }

    package func snapshot(of domain: Domain) throws(DefaultsError) -> DomainSnapshot {
        look(at: domain)
        return store.snapshot(of: domain)
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        _ = try store.lookAtAll(haste: .settle, isBaseline: true)
        return store.domains()
    }

    package func edit(_ domain: Domain, _ values: Difference, replacesAll: Bool) throws(DefaultsError) {
        look(at: domain)
        store.edit(
            EditRequest(domain: domain, values: values, replacesAll: replacesAll, writer: .app(identity)))
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        try store.publish(domain)
        // No one stays to look at what was displaced a second later: whoever writes to it still is waited for now.
        _ = store.examineDisplaced(.insist)
        try store.publish(domain)
    }

    /// Looks at the file; one that is being written is waited for, a second at most.
    private func look(at domain: Domain) {
        var pause: Int32 = 1
        var waited: Int32 = 0
        while waited < 1_000 {
            if store.look(at: [domain], haste: .settle, isBaseline: true).beingWritten.isEmpty { return }
            poll(nil, 0, pause)
            waited += pause
            pause = min(pause * 2, 50)
        }
        _ = store.look(at: [domain], patience: .insist, haste: .settle, isBaseline: true)
    }
}
