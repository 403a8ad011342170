import DefaultsCore
import DirectoryWatcher
import NIOCore

/// Waiting until edits are durable, and what happened before is known.
extension Engine {
    /// Calls back, on its own thread, when all edits made before are durable, and all that happened in the directory before
    /// is in the log.
    ///
    /// The kernel has queued the event of a finished change before the call that made it returns. So once the watcher has
    /// drained the queue, all is known; a file that was removed is waited for until it may be believed. What a writer has
    /// not closed yet isn't finished. Nor is waited for what a writer leaves in a version that it held open while it was
    /// replaced: that comes within seconds.
    ///
    /// - Parameters:
    ///   - domains: whose edits are to be durable, and whose removal is waited for; all domains' if left out.
    ///   - then: is told where the log ends then, and what couldn't be saved.
    nonisolated func synchronize(
        _ domains: Set<Domain>?, then: @escaping @Sendable (_ cursor: Cursor, _ failures: [DefaultsError]) -> Void
    ) {
        // From the watcher's thread straight to the engine's: each thread that must wake up costs as much as a read.
        watcher.drain { [self] in
            Task(executorPreference: executor) { [self] in
                let (cursor, failures) = await synchronizeWhatIsKnown(domains)
                then(cursor, failures)
            }
        }
    }

    private func synchronizeWhatIsKnown(_ domains: Set<Domain>?) async -> (Cursor, [DefaultsError]) {
        takeDirty()
        tryAgain(domains)
        let doubtful = agenda.settling.filter { domains?.contains($0) ?? true }
        while let due = doubtful.compactMap({ agenda[.settle($0)] }).min() {
            _ = try? await eventLoop.scheduleTask(deadline: due) {}.futureResult.get()
        }
        let pending = domains.map(store.pending(among:)) ?? store.pending().map(\.domain)
        let failures = await publish(pending).map(\.error)
        return (store.cursor, failures)
    }

    /// Does at once what has failed, and is planned for later.
    private func tryAgain(_ domains: Set<Domain>?) {
        if blindLooks > 0 { lookAtAll() }
        lookAtWritten()
        for unread in refusals.keys where domains?.contains(unread) ?? true { look(at: unread, haste: .settle) }
    }

    /// Looks now at the files that were open for writing when they were looked at, or modified.
    ///
    /// The kernel tells of a close before it counts the file as closed: who looks at once, while the writer is still in the
    /// call, may come too early. When that call has returned, it is closed.
    private func lookAtWritten() {
        for case .look(let domain) in agenda.items where refusals[domain] == nil {
            let unsettled = store.look(at: [domain], isTold: true)
            // Not closed yet: its time comes, and counts.
            guard unsettled.beingWritten.isEmpty else { continue }
            agenda.remove(.look(domain))
            attempts[domain] = nil
            revisit(unsettled)
        }
    }
}

extension Agenda {
    /// The domains whose bad news is waited for.
    fileprivate var settling: [Domain] {
        items.compactMap { if case .settle(let domain) = $0 { domain } else { nil } }
    }
}
