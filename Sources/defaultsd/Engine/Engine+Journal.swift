import CLinux
import DefaultsCore
import Linux
import Logging
import NIOCore

/// The maintenance of the journal, by one thread at a time.
extension Engine {
    /// Maintains the files with the history on a separate thread, because it may take a few seconds.
    func maintainJournal() {
        guard maintenance.begin() else { return }
        let (store, settings, eventLoop) = (store, settings, eventLoop)
        let wasLost = store.journal?.problem != nil
        let isStarted = DetachedThread.start {
            store.maintainJournal(settings.history)
            // Thinning an archive takes several times its size.
            linux_release_freed_memory()
            eventLoop.execute { self.assumeIsolated { $0.finishMaintenance(wasLost: wasLost) } }
        }
        if isStarted { return }
        fail(.maintainJournal)
        _ = maintenance.finish()
    }

    /// Writes the log to its file again if that had failed, without waiting for the next planned attempt.
    ///
    /// Returns after one attempt that began no earlier than the call.
    func resumeJournal() async {
        guard store.journal?.problem != nil else { return }
        await withCheckedContinuation { continuation in
            maintenance.waiting.append(continuation)
            maintainJournal()
        }
    }

    private func finishMaintenance(wasLost: Bool) {
        let isWantedAgain = maintenance.finish()
        maintenance.awaitsSaves = store.hasExcludedEdits
        if store.journal?.needsMaintenance == true {
            fail(.maintainJournal)
        } else if wasLost {
            maintenance.logBegunAt = .now()
            log.logger.notice("The change log is saved to its file again.")
        }
        loggedProblems.log([store.journal?.archiveProblem].compactMap(\.self), of: .archive, to: log.logger)
        if isWantedAgain { maintainJournal() }
    }
}

/// The state of the journal's maintenance.
struct JournalMaintenance {
    private enum Phase {
        case idle
        /// The thread is running; `again` says whether the journal must be maintained once more afterwards.
        case running(again: Bool)
    }

    private var phase = Phase.idle
    /// The barriers that wait for an attempt that hasn't begun.
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// The barriers that wait for the end of the attempt under way.
    ///
    /// Further barriers that ask for the next attempt don't hold these up.
    private var served: [CheckedContinuation<Void, Never>] = []
    /// Whether the log still holds edits of excluded keys, which it loses once they are saved.
    var awaitsSaves = false
    /// The time at which the change log file was last started.
    var logBegunAt = NIODeadline.now()

    /// Begins the maintenance; if it is running, it is wanted once more afterwards.
    ///
    /// - Returns: Whether it begins now.
    mutating func begin() -> Bool {
        if case .running = phase {
            phase = .running(again: true)
            return false
        }
        phase = .running(again: false)
        (served, waiting) = (waiting, [])
        return true
    }

    /// Records the end, and resumes the barriers that waited for it; returns whether the maintenance is wanted again.
    mutating func finish() -> Bool {
        for continuation in served { continuation.resume() }
        served = []
        defer { phase = .idle }
        return if case .running(again: true) = phase { true } else { false }
    }
}
