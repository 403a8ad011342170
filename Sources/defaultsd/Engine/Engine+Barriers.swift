import DefaultsCore
import DirectoryWatcher
import NIOCore

/// Barriers, which wait until edits are durable and earlier changes are in the log.
extension Engine {
    /// Calls back when all earlier edits are durable, and all earlier changes in the directory are in the log.
    ///
    /// The kernel queues the event for a change before the system call that makes the change returns. So once the
    /// watcher has drained the queue, all earlier changes are known. If a file was removed, the barrier waits until the
    /// loss is confirmed. It doesn't wait for two things: a file that its writer hasn't closed yet, and writes to a
    /// displaced file that a foreign writer still has open, which are merged within seconds.
    ///
    /// - Parameters:
    ///   - domains: The domains whose edits must be durable and whose losses must be confirmed; `nil` for all domains.
    ///   - then: A function that is called on the engine's thread with the end of the log at that time and the errors
    ///     of failed saves.
    nonisolated func synchronize(
        _ domains: Set<Domain>?, then: @escaping @Sendable (_ cursor: Cursor, _ failures: [DefaultsError]) -> Void
    ) {
        // The watcher's thread wakes the engine's thread directly, since waking another thread in between would cost as
        // much as a read.
        watcher.drain { [self] in
            Task(executorPreference: executor) { [self] in
                let (cursor, failures) = await synchronizeReloaded(domains)
                then(cursor, failures)
            }
        }
    }

    private func synchronizeReloaded(_ domains: Set<Domain>?) async -> (Cursor, [DefaultsError]) {
        reloadDirtyFiles()
        retryFailedReads(domains)
        let losses = schedule.items.filter {
            if case .confirmLoss(let domain) = $0 { domains?.contains(domain) ?? true } else { false }
        }
        while let due = losses.compactMap({ schedule[$0] }).min() {
            await eventLoop.sleep(until: due)
        }
        let pending = domains.map(store.pending(among:)) ?? store.pending().map(\.domain)
        let failures = await save(pending).map(\.error)
        return (store.cursor, failures)
    }

    /// Immediately retries failed reads that are planned for later.
    private func retryFailedReads(_ domains: Set<Domain>?) {
        if schedule.hasFailed(.reloadAll) { reloadAll() }
        reloadWrittenFiles()
        for case .reloadUnreadable(let domain) in schedule.failedItems where domains?.contains(domain) ?? true {
            reload(domain, losses: .believe)
        }
    }

    /// Reloads the files that were open for writing, or modified, when they were last read.
    ///
    /// The kernel reports a close before it counts the file as closed, so a check during the writer's `close` call may
    /// come too early. Once that call has returned, the file is closed.
    private func reloadWrittenFiles() {
        for case .reloadOpen(let domain) in schedule.items {
            let outcome = store.reload([domain], afterEvent: true)
            // If the file isn't closed yet, its planned reload stays, and counts the attempt.
            guard outcome.beingWritten.isEmpty else { continue }
            schedule.remove(.reloadOpen(domain))
            schedule.succeed(.reloadOpen(domain))
            revisit(outcome)
        }
    }
}
