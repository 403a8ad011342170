import DefaultsCore
import Logging
import NIOCore

/// The last saves, before the agent ends or restarts.
extension Engine {
    /// Saves pending edits when the agent shuts down.
    func end() async {
        _ = await save(store.pending().map(\.domain), until: .now())
        await readOnce(within: .seconds(5))
        _ = await save(store.pending().map(\.domain), until: .now() + .seconds(5))
        _ = await onDiskSaving { $0.examineDisplaced() }
        // Changes that foreign writers made to displaced files are now pending. If the log has no edits for the next
        // agent, this is the last chance to save them.
        let failures = await save(
            store.pending().map(\.domain), until: .now() + .seconds(5), retriesFailures: store.journal?.problem != nil)
        for (domain, error) in failures {
            let fate =
                if store.journal?.problem != nil {
                    "and the change log can't be written, so they are lost if their programs have ended"
                } else if store.hasEditsNotLogged(of: domain) {
                    "edits of keys that HistoryExcludes names or a manifest calls sensitive are in no log, and are "
                        + "lost if their programs have ended; the change log keeps the others for the next agent"
                } else {
                    "the change log keeps them for the next agent"
                }
            log.logger.error("Edits of \(domain) were not saved; \(fate): \(error)")
        }
        let left = await onDiskSaving { store in
            _ = store.examineDisplaced()
            return store.displacedPaths
        }
        await onDiskSaving { $0.closeJournal() }
        for path in left {
            log.logger.notice(
                "A displaced file is still being written, or could not be saved; it stays for the next agent: \(path)")
        }
    }

    /// Reads what has changed, unless that takes too long; the next agent then reads it.
    private func readOnce(within limit: TimeAmount) async {
        let (end, latch) = AsyncStream<Never>.makeStream()
        start { engine in
            await engine.drain()
            await engine.finishReloads()
            latch.finish()
        }
        let timer = eventLoop.scheduleTask(in: limit) { latch.finish() }
        for await _ in end {}
        timer.cancel()
    }

    // MARK: Edits that would be lost

    /// Saves the edits that would be lost with the agent, because the change log can't keep them for the next one.
    ///
    /// - Returns: The reason why the agent had better not end; `nil` if no edit would be lost.
    func saveUnlogged() async -> DefaultsError? {
        _ = await save(store.unlogged(), until: .now())
        return unloggedProblem
    }

    /// Waits until a restart loses no edit.
    ///
    /// The failed saves are retried as usual.
    func saveUnloggedBeforeRestart() async {
        restartProblem = await saveUnlogged()
        if let restartProblem { log.logger.error("\(restartProblem)") }
        while unloggedProblem != nil { await eventLoop.sleep(until: .now() + Self.restartInterval) }
        restartProblem = nil
    }

    /// The interval between checks for a restart.
    private static let restartInterval = TimeAmount.seconds(1)

    private var unloggedProblem: DefaultsError? {
        let domains = store.unlogged()
        if domains.isEmpty { return nil }
        let names = domains.map(\.description).joined(separator: ", ")
        return DefaultsError(
            .notSaved,
            "Edits of \(names) can be neither saved nor written to the change log, so this agent keeps running until "
                + "they can.",
            remedy: "To restart it sooner, free disk space.")
    }
}
