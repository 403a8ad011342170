import Linux

/// The locks under which a domain's file is read, and merged with its last known state, or saved.
///
/// A lock exists only while it is in use.
final class FileLocks: Sendable {
    private struct Entry {
        let lock = ForkSafeMutex(())
        var users = 0
    }

    private let entries = ForkSafeMutex<[Domain: Entry]>([:])

    /// Calls a closure while no other thread uses a domain's file; waits until then.
    func withFile<Value, Failure>(
        of domain: Domain, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let lock = enter(domain)
        defer { leave(domain) }
        return try lock.withLock { _ throws(Failure) in try body() }
    }

    /// Calls a closure while no other thread uses a domain's file.
    ///
    /// - Returns: The closure's result; `nil` if another thread uses the file.
    func withFileIfAvailable<Value>(of domain: Domain, _ body: () -> Value) -> Value? {
        let lock = enter(domain)
        defer { leave(domain) }
        return lock.withLockIfAvailable { _ in body() }
    }

    private func enter(_ domain: Domain) -> ForkSafeMutex<Void> {
        entries.withLock { entries in
            let entry = entries[domain] ?? Entry()
            entries[domain] = entry
            entries[domain]?.users += 1
            return entry.lock
        }
    }

    private func leave(_ domain: Domain) {
        entries.withLock { entries in
            entries[domain]?.users -= 1
            if entries[domain]?.users == 0 { entries[domain] = nil }
        }
    }
}
