import DefaultsCore
import DirectoryWatcher
import Linux
import Logging
import NIOCore

/// The reloading of changed files, until their state is certain.
extension Engine {
    /// Reads the watcher's events, and reloads the files that they name.
    func readEvents() {
        if isSlow { postpone(.init(readsEvents: true)) } else { reload(WatcherReading(of: watcher)) }
    }

    /// Reads the watcher even if no event has arrived, because a check of the paths is due.
    func readDueEvents() {
        readEvents()
        checkClaims()
        store.checkJournal()
    }

    /// Reads everything that happened before the call, including what inotify doesn't report, and begins to reload it.
    ///
    /// One drain serves all who have asked for one before it begins.
    func drain() async { await drain(number: reloads.wantDrain()) }

    /// Makes a drain unless another has begun since it was asked for; on a slow file system, waits for it.
    func drain(number: Int) async {
        guard reloads.beginDrain(number, evenAgain: isSlow) else { return }
        let reading = await withWatcher { WatcherReading(of: $0, checkingPaths: true) }
        reload(reading)
        // Otherwise, this has just been done.
        if reading.dirty.isEmpty { checkClaims() }
    }

    /// Requests a check of the agent's claims if one of them or the socket is gone.
    func checkClaims() {
        guard let checks = observers.withLock({ $0.claimChecks }) else { return }
        if isSlow { start { await $0.onDisk { _ in checks.requestIfNeeded() } } } else { checks.requestIfNeeded() }
    }

    /// Plans to read the watcher again when that is due even without an event.
    private func planNextRead(_ reading: WatcherReading) {
        let due = NIODeadline.now() + TimeAmount(reading.timeUntilNext)
        // The time until then is measured anew each time, so it isn't exactly the same.
        if let planned = schedule[.readEvents], planned < due + .milliseconds(1) { return }
        schedule.move(.readEvents, to: due)
    }

    /// Reloads all files.
    func rescan() {
        start { engine in
            await engine.withWatcher { watcher in watcher.withLock { $0.requestRescan() } }
            await engine.drain()
        }
    }

    /// Reloads the files that the watcher has reported.
    private func reload(_ reading: WatcherReading) {
        events.mayBeUnread = false
        report(reading.status)
        planNextRead(reading)
        let dirty = reading.dirty
        if dirty.isEmpty { return }
        if let reason = dirty.rescan {
            log.logger.debug("Reloading all files: \(reason)")
            postpone(.init(isAll: true))
        }
        if dirty.rescan == nil, dirty.changed.contains(where: manifests.directories.contains) {
            postpone(.init(readsManifests: true))
        }
        let changed = domains(dirty.changed)
        for domain in changed { obstacles.recordChange(of: domain) }
        reloadQuickly(changed)
        // Everything else can wait until the subscribers have the changes.
        observers.withLock { $0.subscribers }?.sendNow()
        if dirty.rescan != nil || dirty.changed.contains(AgentClaim.fileName) {
            observers.withLock { $0.claimChecks }?.request()
        } else {
            // A change may come from a client that wrote the file itself because it couldn't find the socket.
            checkClaims()
        }
        // Obstacles to saving may be gone. A file's own event doesn't indicate this, since the failed attempt itself
        // may cause it.
        if dirty.rescan != nil {
            for case .save(let domain) in schedule.failedItems { plan(.save(domain), in: .zero) }
            plan(.maintainJournal, in: .zero)
        }
        for domain in domains(dirty.beingWritten) {
            plan(.reloadOpen(domain), in: .milliseconds(Int64(settings.holdDelay)))
        }
    }

    /// Logs each new problem of the system directories once.
    func reportSystemProblems() {
        loggedProblems.log(store.system.problems, of: .systemDirectories, to: log.logger)
    }

    /// Logs a change to the watch mode.
    ///
    /// The first mode is part of the message which says that the agent is ready.
    private func report(_ status: WatcherStatus) {
        defer { events.status = status }
        guard status.mode != events.status.mode else { return }
        switch status.mode {
        case .polling: log.logger.warning("\(store.directory.path) is now watched by \(status.mode)")
        case .inotify: log.logger.notice("\(store.directory.path) is now watched by \(status.mode)")
        // The scan of the directory reports the problem.
        case .waiting: break
        }
    }

    /// Logs a problem of the directory, or its end, once, and plans another scan while it lasts.
    func report(_ problem: DefaultsError?) {
        if loggedProblems.log([problem].compactMap(\.self), of: .directory, to: log.logger) {
            log.logger.notice("The directory can be read again.")
        }
        if problem == nil {
            schedule.succeed(.reloadAll)
            schedule.remove(.reloadAll)
        } else {
            fail(.reloadAll)
        }
    }

    /// Returns the domains of file names reported by the watcher.
    ///
    /// Files in the system directories are given by absolute paths.
    private func domains(_ names: Set<String>) -> Set<Domain> {
        Set(
            names.flatMap { name in
                name.utf8.first == UInt8(ascii: "/")
                    ? store.system.domains(atPath: name) : [Domain(fileName: name)].compactMap(\.self)
            })
    }

    func reload(_ domain: Domain, losses: Store.LossPolicy) async {
        // After many attempts, accept the contents if two reads are equal, since the writer may never close the file.
        let isLong = schedule.failureCount(of: .reloadOpen(domain)) >= Schedule.maximumOpenReloads
        let outcome = await onDisk { store in
            store.reload([domain], openWriters: isLong ? .readAnyway : .wait, losses: losses, afterEvent: true)
        }
        if outcome.beingWritten.isEmpty { schedule.succeed(.reloadOpen(domain)) }
        if outcome.isEmpty {
            schedule.succeed(.reloadUnreadable(domain))
            schedule.remove(.reloadUnreadable(domain))
        }
        revisit(outcome)
    }

    /// The number of files that are read on the loop at once; reading as many takes about a millisecond.
    static let maximumQuickReloads = 32

    /// Reloads files on the loop if that takes little time, and otherwise later.
    private func reloadQuickly(_ domains: Set<Domain>) {
        if isSlow || domains.count > Self.maximumQuickReloads { return postpone(.init(domains: domains)) }
        let outcome = store.reloadWithoutWaiting(domains)
        reloads.addBusy(outcome.busy)
        if !outcome.postponed.isEmpty { postpone(.init(domains: outcome.postponed)) }
        revisit(outcome)
    }

    /// Reloads files that were in use when they changed, now that a thread may be done with them.
    func reloadBusyFiles() {
        let domains = reloads.dequeueBusy()
        if !domains.isEmpty { reloadQuickly(domains) }
    }

    /// Has files read by the disk's thread.
    ///
    /// However often files change while that thread waits for the disk, they are read only once afterwards.
    func postpone(_ new: PostponedReloads) {
        guard let number = reloads.postpone(new) else { return }
        start { engine in
            await engine.reloadPostponed()
            engine.reloads.end(number)
        }
    }

    private func reloadPostponed() async {
        let done = await onDisk { [postponed = reloads.postponed, watcher, manifests] store in
            let due = postponed.withLock { postponed in
                defer { postponed = nil }
                return postponed
            }
            var done = DoneReloads()
            if due?.isAll == true {
                // Another file system may have been mounted.
                done.isSlow = Self.isSlow(store)
                done.all = Result { () throws(DefaultsError) in try store.reloadAll() }
            }
            if due?.isAll == true || due?.readsManifests == true { done.manifests = manifests.read() }
            done.named = store.reload(due?.domains ?? [], afterEvent: true)
            if due?.readsEvents == true { done.reading = WatcherReading(of: watcher) }
            return done
        }
        if let isSlow = done.isSlow { self.isSlow = isSlow }
        if let set = done.manifests { apply(set) }
        switch done.all {
        case .success(let outcome):
            report(outcome.problem)
            revisit(outcome)
        case .failure(let error):
            report(error)
            revisit(await onDisk { $0.reloadSystem() })
        case nil: break
        }
        if done.all != nil { reportSystemProblems() }
        revisit(done.named)
        if let reading = done.reading { reload(reading) }
    }

    /// Returns whether a watched directory is on a slow file system.
    static func isSlow(_ store: Store) -> Bool {
        ([store.directory.path] + store.system.paths).contains { NetworkFileSystem.contains($0) }
    }

    /// Waits until the reloads that have begun have ended, and files that were in use when they changed are reloaded.
    ///
    /// - Parameter names: The names of the domains whose reloads are waited for; `nil` for all.
    func finishReloads(of names: Set<DomainName>? = nil) async {
        // Usually, a save is using the file. The disk's thread may be reading another file for long.
        if names != nil, reloads.hasBusy(of: names) { await onDiskSaving { _ in } }
        let busy = reloads.dequeueBusy(of: names)
        // The loop might find them in use again and again.
        if !busy.isEmpty { postpone(.init(domains: busy)) }
        let latest = reloads.latest
        // The disk's thread does jobs in order.
        while reloads.has(upTo: latest, of: names) { await onDisk { _ in } }
    }

    /// Plans another reload of files whose state is still uncertain.
    func revisit(_ outcome: Store.ReloadOutcome) {
        for domain in outcome.beingWritten { fail(.reloadOpen(domain)) }
        for domain in outcome.unreadable { fail(.reloadUnreadable(domain)) }
        for domain in outcome.unconfirmed {
            plan(.confirmLoss(domain), in: .milliseconds(Int64(settings.holdDelay)))
        }
    }
}

/// The dirty names, the status and the next reading of a watcher, read together.
struct WatcherReading {
    let dirty: DirtyNames
    let status: WatcherStatus
    let timeUntilNext: Duration

    init(of watcher: ForkSafeMutex<DirectoryWatcher>, checkingPaths: Bool = false) {
        (dirty, status, timeUntilNext) = watcher.withLock {
            ($0.read(checkingPaths: checkingPaths), $0.status, $0.timeUntilNextRead)
        }
    }
}

/// The outcomes of postponed reloads.
private struct DoneReloads {
    var named = Store.ReloadOutcome.none
    /// The outcome of reloading all files, if they were asked for.
    var all: Result<Store.ReloadOutcome, DefaultsError>?
    /// Whether a watched directory is on a slow file system, if all files were asked for.
    var isSlow: Bool?
    /// The watcher's events, if they were asked for.
    var reading: WatcherReading?
    /// The manifests, if they were asked for.
    var manifests: ManifestSet?
}
