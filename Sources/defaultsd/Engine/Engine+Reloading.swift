import DefaultsCore
import DirectoryWatcher
import Linux
import Logging
import NIOCore

/// The reloading of changed files, until their state is certain.
extension Engine {
    /// Reloads everything that the watcher has collected.
    func reloadDirtyFiles() {
        let dirty = watcher.dequeue()
        if dirty.rescan != nil || dirty.changed.contains(AgentClaim.fileName) {
            observers.withLock { $0.claimChecks }?.request()
        } else if !dirty.isEmpty {
            // A change may come from a client that wrote the file itself because it couldn't find the socket.
            observers.withLock { $0.claimChecks }?.requestIfNeeded()
        }
        if let reason = dirty.rescan {
            reportWatchMode()
            log.logger.debug("Reloading all files: \(reason)")
            reloadAll()
            reportSystemProblems()
        }
        let changed = domains(dirty.changed)
        for domain in changed { obstacles.noteChange(of: domain) }
        revisit(store.reload(changed, afterEvent: true))
        // Obstacles to saving may be gone. A file's own event doesn't indicate this, since the failed attempt itself
        // may cause it.
        if dirty.rescan != nil {
            for case .save(let domain) in schedule.failedItems { plan(.save(domain), in: .zero) }
            plan(.keepLog, in: .zero)
        }
        for domain in domains(dirty.beingWritten) {
            plan(.reloadOpen(domain), in: .milliseconds(Int64(settings.holdDelay)))
        }
    }

    /// Logs each new problem of the system directories once.
    func reportSystemProblems() {
        let problems = store.system.problems
        for problem in problems where !systemProblems.contains(problem) { log.logger.warning("\(problem)") }
        systemProblems = problems
    }

    /// Logs a change to the watch mode.
    ///
    /// The first mode is part of the message which says that the agent is ready.
    func reportWatchMode() {
        let mode = watcher.status.mode
        defer { watching = mode }
        guard let watching, watching != mode else { return }
        switch mode {
        case .polling: log.logger.warning("\(store.directory.path) is now watched by \(mode)")
        case .inotify: log.logger.notice("\(store.directory.path) is now watched by \(mode)")
        // The scan of the directory reports the problem.
        case .waiting: break
        }
    }

    func reloadAll() {
        do throws(DefaultsError) {
            let outcome = try store.reloadAll()
            report(outcome.problem)
            revisit(outcome)
        } catch {
            report(error)
            revisit(store.reloadSystem())
        }
    }

    /// Logs a problem of the directory, or its end, once, and plans another scan while it lasts.
    func report(_ problem: DefaultsError?) {
        if let problem, directoryProblem == nil { log.logger.warning("\(problem)") }
        if problem == nil, directoryProblem != nil { log.logger.notice("The directory can be read again.") }
        directoryProblem = problem
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

    func reload(_ domain: Domain, losses: Store.LossPolicy) {
        // After many attempts, accept the contents if two reads are equal, since the writer may never close the file.
        let isLong = schedule.failureCount(of: .reloadOpen(domain)) >= Schedule.maximumOpenReloads
        let outcome = store.reload(
            [domain], openWriters: isLong ? .readAnyway : .wait, losses: losses, afterEvent: true)
        if outcome.beingWritten.isEmpty { schedule.succeed(.reloadOpen(domain)) }
        if outcome.isEmpty {
            schedule.succeed(.reloadUnreadable(domain))
            schedule.remove(.reloadUnreadable(domain))
        }
        revisit(outcome)
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
