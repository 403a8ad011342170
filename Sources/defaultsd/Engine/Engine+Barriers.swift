import DefaultsCore
import DirectoryWatcher
import Linux
import NIOCore

/// Barriers, which wait until edits are durable and earlier changes are in the log.
extension Engine {
    /// Waits until earlier edits are durable, and earlier changes in the directory are in the log.
    ///
    /// The kernel queues the event for a change before the system call that makes the change returns. So once the
    /// watcher has drained the queue, all earlier changes are known, except those that the kernel doesn't report, for
    /// which the barrier looks at the files. If a file was removed, it waits until the loss is confirmed. It doesn't
    /// wait for two things: a file that its writer hasn't closed yet, and writes to a displaced file that a foreign
    /// writer still has open, which are merged within seconds.
    ///
    /// A file that is read slowly, perhaps from a file system that hangs, holds up only the barriers of domains with
    /// its name, those of all domains, and those that begin while all files are reloaded. But slow files are read one
    /// after another, so they also hold up each other.
    ///
    /// - Parameter domains: The domains whose edits must be durable and whose losses must be confirmed; `nil` for all
    ///   domains. Only their files are looked at, but changes to the files of all domains with their names are waited
    ///   for. If there are none, no edits are saved, and changes to all files are waited for.
    /// - Returns: The end of the log at that time, and the errors of failed saves.
    func synchronize(_ domains: Set<Domain>?) async -> (cursor: Cursor, failures: [DefaultsError]) {
        let names = domains.flatMap { $0.isEmpty ? nil : Set($0.map(\.name)) }
        // This runs as soon as the save below has begun and the loop would be idle.
        let drain = reloads.wantDrain()
        let draining = Task(executorPreference: executor) { await self.drain(number: drain) }
        _ = await save(pending(among: domains).filter { !schedule.hasFailed(.save($0)) })
        await draining.value
        if schedule.hasFailed(.reloadAll) { postpone(.init(isAll: true)) }
        await finishReloads(of: names)
        await retryFailedReads(of: domains, named: names)
        await reloadUnreported(domains)
        let losses = schedule.items.filter {
            if case .confirmLoss(let domain) = $0 { domains?.contains(domain) ?? true } else { false }
        }
        while let due = losses.compactMap({ schedule[$0] }).min() {
            await eventLoop.sleep(until: due)
        }
        await finishReloads(of: names)
        if store.hasOpenDisplaced(among: domains) { await examineDisplaced() }
        let failures = await save(pending(among: domains)).map(\.error)
        // Otherwise, each command that waits for its own edit would try.
        if domains == nil { await resumeJournal() }
        return (store.cursor, failures)
    }

    private func pending(among domains: Set<Domain>?) -> [Domain] {
        domains.map(store.pending(among:)) ?? store.pending().map(\.domain)
    }

    /// Immediately retries failed reads that are planned for later.
    private func retryFailedReads(of domains: Set<Domain>?, named names: Set<DomainName>?) async {
        await reloadWrittenFiles(names)
        for case .reloadUnreadable(let domain) in schedule.failedItems where domains?.contains(domain) ?? true {
            await reload(domain, losses: .believe)
        }
    }

    /// Reloads the files that have changed although nothing has reported that: through another hard link or a mapping,
    /// or in a lower layer of overlayfs.
    private func reloadUnreported(_ domains: Set<Domain>?) async {
        // On a slow file system, the files have just been polled.
        if isSlow { return }
        let isQuick = (domains?.count ?? .max) <= Self.maximumQuickReloads
        let changed = isQuick ? store.changedFiles(among: domains) : await onDisk { $0.changedFiles(among: domains) }
        let unreported = changed.filter { domain in
            [.reloadOpen(domain), .confirmLoss(domain), .reloadUnreadable(domain)].allSatisfy { schedule[$0] == nil }
        }
        if unreported.isEmpty { return }
        revisit(await onDisk { $0.reload(unreported, afterEvent: true) })
        watcher.withLock { $0.requestListing() }
        plan(.readEvents, in: .zero)
    }

    /// Reloads the files that were open for writing, or modified, when they were last read.
    ///
    /// The kernel reports a close before it counts the file as closed, so a check during the writer's `close` call may
    /// come too early. Once that call has returned, the file is closed.
    private func reloadWrittenFiles(_ names: Set<DomainName>?) async {
        for case .reloadOpen(let domain) in schedule.items where names?.contains(domain.name) ?? true {
            let outcome = await onDisk { $0.reload([domain], afterEvent: true) }
            // If the file isn't closed yet, its planned reload stays, and counts the attempt.
            guard outcome.beingWritten.isEmpty else { continue }
            schedule.remove(.reloadOpen(domain))
            schedule.succeed(.reloadOpen(domain))
            revisit(outcome)
        }
    }
}
