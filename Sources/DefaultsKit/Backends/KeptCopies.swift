import DefaultsCore
import Linux

/// Remembers which copies of files an embedded store has kept beside them, for who wants to tell of it.
final class KeptCopies: StoreObserver {
    /// The paths.
    ///
    /// Nothing is called under it.
    private let paths = ForkSafeMutex<[String]>([])

    /// The paths since this was last called.
    func take() -> [String] {
        paths.withLock { paths in
            defer { paths = [] }
            return paths
        }
    }

    func storePosted(in domain: Domain) {}
    func storeNeedsPublishing(_ domain: Domain, _ urgency: StoreUrgency) {}
    func storeTold(_ event: LogRecord.Event) {}
    func storeLostLog(_ error: DefaultsError) {}
    func storeKept(_ copy: String) { paths.withLock { $0.append(copy) } }
}
