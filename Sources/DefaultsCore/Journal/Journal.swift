import Glibc
import Linux

/// The log on disk: a file with the change log, and an archive of the records that the file loses.
///
/// With them, cursors, unsaved edits and the history survive the agent and a reboot.
///
/// The log itself is in memory, with the domains that it describes: in a `LoggedState`, which has a lock of its own.
/// All methods are synchronous and may be called from any thread; those that wait for the disk say so.
///
/// The lock order is `archive`, then `logFile`, then the state's lock.
package final class Journal: Sendable {
    package let location: LogLocation
    /// The lock for the log file.
    ///
    /// Held while the file is written, so that entries reach it in order.
    let logFile: ForkSafeMutex<LogFileState>
    /// The archive of the records that the log file loses.
    ///
    /// Held during I/O, for up to a few seconds, so only threads that may wait for the disk acquire it.
    let archive: ForkSafeMutex<HistoryArchive>

    /// Creates a journal that writes nothing until it begins.
    ///
    /// - Parameters:
    ///   - location: The paths of the files.
    ///   - lock: The lock of the files, if this agent has it.
    ///   - needsLock: Whether other agents might use the files.
    package init(at location: LogLocation, lock: consuming LockFile? = nil, needsLock: Bool = false) {
        self.location = location
        logFile = ForkSafeMutex(LogFileState(lock: lock, needsLock: needsLock))
        archive = ForkSafeMutex(HistoryArchive(path: location.archive))
    }

    /// Creates the journal of an agent, beside the socket if its usual location can't be used.
    ///
    /// - Parameter location: The usual location.
    /// - Returns: The journal, and a sentence if that isn't at the usual location.
    package static func claim(_ location: LogLocation) -> (journal: Journal, warning: String?) {
        // Beside the socket, no other process that might use the files can have claimed it.
        guard let fallback = location.fallback else { return (Journal(at: location), nil) }
        let directory = Path.directory(of: location.log)
        do throws(SystemCall.Failure) {
            try location.makeDirectory()
            if let lock = try location.lock() { return (Journal(at: location, lock: lock, needsLock: true), nil) }
            return (
                Journal(at: fallback),
                "Another agent is writing the history in \(directory), so this one keeps its own beside the socket. "
                    + "Give each its own XDG_STATE_HOME."
            )
        } catch {
            let reason = SystemCall.message(error.number)
            // The log may hold unsaved edits, and can perhaps be locked soon. It can't if it is another user's, or if
            // the file system has no locks.
            if ![EPERM, EACCES, ENOLCK].contains(error.number), location.mayHaveLog {
                return (
                    Journal(at: location, needsLock: true), "The change log in \(directory) can't be locked: \(reason)."
                )
            }
            return (
                Journal(at: fallback), "The history won't survive a reboot: \(directory) can't be used: \(reason)."
            )
        }
    }

    /// Begins to write the log to its file.
    ///
    /// If this fails, the log continues in memory only, until `maintain` succeeds; `problem` is then the reason.
    ///
    /// - Parameters:
    ///   - state: The log, with the domains. No other thread uses it yet.
    ///   - earlier: The log that the state has resumed. If all of it is in the same file, that file is continued; any
    ///     other file is replaced.
    ///   - sizeLimit: The size above which the file is replaced; twice the log's capacity by default.
    ///   - exclusions: The keys whose values are never stored in either file.
    func begin(
        _ state: ForkSafeMutex<some LoggedState>, continuing earlier: RecoveredLog?, sizeLimit: Int?,
        excluding exclusions: HistoryExclusions
    ) {
        archive.withLock { archive in
            logFile.withLock { file in
                file.begin(exclusions, at: location, continuing: earlier)
                ChangeLogFile.removeLeftovers(of: location.log)
                let (published, copy) = state.withLock { state in
                    state.exclude(exclusions)
                    let published = (state.outbox ?? []).compactMap {
                        if case .record(let record) = $0 { record } else { nil }
                    }
                    state.outbox = []
                    return (published, state)
                }
                let log = copy.log
                file.sizeLimit = sizeLimit ?? 2 * log.capacity.bytes
                do throws(SystemCall.Failure) {
                    try file.renewLock(at: location)
                    if let earlier, earlier.path == location.log, earlier.isInFile {
                        let continued = try ChangeLogFile(
                            continuing: earlier, epoch: log.epoch, sizeLimit: file.sizeLimit, excluding: exclusions)
                        file.phase = .writing(continued)
                        try continued.append(published.map { .record($0) } + copy.marks(lackedBy: earlier, published))
                    } else {
                        // The new file lacks what the log has discarded. The archive has the records of a damaged one.
                        let all = (earlier?.isDamaged == false ? earlier?.records ?? [] : []) + published
                        try archive.append(all.filter { $0.revision < log.oldest }, excluding: exclusions)
                        let contents = ChangeLogFile.Contents(
                            of: log, marks: copy.marks(), sessions: copy.sessions, excluding: exclusions,
                            sizeLimit: file.sizeLimit, identity: earlier?.identity)
                        let new = try draft(contents)
                        try new.replaceOld()
                        // The caller may now remove the fallback, whose records this file has.
                        try FileDescriptor.synchronizeDirectory(of: location.log)
                        file.phase = .writing(new)
                    }
                } catch {
                    _ = suspend(&file, because: error, at: earlier?.path, in: state)
                }
            }
        }
    }

    /// Makes the log durable as it is, so that the next agent continues it even if the system restarts.
    ///
    /// Waits for the disk. Nothing may be published afterwards.
    func close(_ state: ForkSafeMutex<some LoggedState>) {
        // Wait until a new version of the file is complete.
        archive.withLock { archive in
            // The disk may have space again.
            if logFile.withLock({ !$0.isInPlace || $0.problem != nil }) {
                _ = replaceFile(of: state, within: .init(), archive: &archive)
            }
            logFile.withLock { file in
                try? file.file?.close()
                file.phase = .none
                file.lock = nil
            }
        }
    }

    /// Checks that the log's file and lock are where a later agent looks for them.
    ///
    /// Another program may have removed them together with their directory, replaced the file with a copy, or cut it.
    /// Then `maintain` must be called, which writes the file again.
    ///
    /// - Returns: The problem to report, once for each loss.
    func newLoss() -> DefaultsError? {
        logFile.withLock { file in
            let isKnown = file.isLossReported
            file.isLossReported = !file.isInPlace
            if !file.isLossReported || isKnown { return nil }
            return DefaultsError(
                .notSaved,
                "The change log \(location.log) was removed, replaced or cut by another program. It is being written "
                    + "again.")
        }
    }

    /// Runs a closure on the state while the log file has all entries.
    ///
    /// This way, a crash can't lose a record that was already handed out, whose revision would then be used again. If
    /// the file can't be written, the log continues in memory, until `maintain` succeeds.
    ///
    /// - Returns: The closure's result; the problem to report if the file can't be written anymore; and whether the
    ///   observer must be asked to call `maintain`.
    func withWrittenEntries<State: LoggedState, Value: Sendable>(
        _ state: ForkSafeMutex<State>, _ body: (inout State) -> Value
    ) -> (Value, lost: DefaultsError?, needsMaintenance: Bool) {
        logFile.withLock { file in
            let (value, lost) = withWrittenEntries(state, in: &file, body)
            return (value, lost, file.requestsMaintenance())
        }
    }

    /// Runs a closure on the state while the log file, whose state is given, has all entries.
    func withWrittenEntries<State: LoggedState, Value: Sendable>(
        _ state: ForkSafeMutex<State>, in file: inout LogFileState, _ body: (inout State) -> Value
    ) -> (Value, lost: DefaultsError?) {
        var lost: DefaultsError?
        while true {
            let log = file.writtenFile
            var entries: [LogEntry] = []
            let value: Value? = state.withLock { state in
                guard let log, let unwritten = state.outbox, !unwritten.isEmpty || !state.unrecorded.isEmpty else {
                    return body(&state)
                }
                entries = unwritten
                if !state.unrecorded.isEmpty { entries.append(.identity(log.identity.adding(state.unrecorded))) }
                (state.outbox, state.unrecorded) = ([], [:])
                return nil
            }
            if let value { return (value, lost) }
            do throws(SystemCall.Failure) {
                try log?.append(entries)
            } catch {
                lost = suspend(&file, because: error, in: state)
            }
        }
    }

    /// Stops writing to the file after a failure.
    ///
    /// Its records stay there, for the history. But a later agent must not continue its epoch, since the log continues
    /// in memory: every cursor then meets an explicit gap.
    ///
    /// - Parameters:
    ///   - file: The state of the file.
    ///   - failure: The reason.
    ///   - path: The path of the file that a later agent may recover, if that is another one.
    ///   - state: The log, with the domains.
    /// - Returns: The problem to report.
    private func suspend(
        _ file: inout LogFileState, because failure: SystemCall.Failure, at path: String? = nil,
        in state: ForkSafeMutex<some LoggedState>
    ) -> DefaultsError {
        let isMarked = ChangeLogHeader.markOutdated(path ?? location.log)
        let problem = DefaultsError(
            .notSaved, errno: failure.number, "The change log can't be written to \(location.log)"
        ).adding("Followers will see a gap if the agent ends.")
        file.phase = .suspended(file.file, because: problem)
        state.withLock { state in
            state.outbox = nil
            if !isMarked { state.log.beginEpoch() }
        }
        return problem
    }

    /// The reason why the log isn't being written to its file; `nil` if it is, or if it hasn't begun.
    package var problem: DefaultsError? { logFile.withLock { $0.problem } }

    /// The reason why older records aren't being moved to the archive; `nil` if they are.
    package var archiveProblem: DefaultsError? { logFile.withLock { $0.archiveProblem } }

    /// Whether the files aren't as they should be, so that maintaining them must be tried again.
    package var needsMaintenance: Bool { logFile.withLock { $0.needsNewVersion } }

    /// Sets the keys whose values are never stored on disk; `maintain` removes them from the files.
    ///
    /// - Returns: The problem to report if the file can't be written anymore.
    func exclude(_ exclusions: HistoryExclusions, _ state: ForkSafeMutex<some LoggedState>) -> DefaultsError? {
        logFile.withLock { file in
            // First write all earlier entries, so that the file holds what the state says it does.
            let ((), lost) = withWrittenEntries(state, in: &file) { $0.exclude(exclusions) }
            file.exclude(exclusions, at: location)
            return lost
        }
    }

    /// The sizes in bytes of the log's file and the archive, as far as there are any, by path.
    package var files: [(path: String, bytes: Int)] {
        let hasLog = logFile.withLock { $0.file != nil }
        return ((hasLog ? [location.log] : []) + [location.archive]).compactMap { path in
            (try? FileStatus(at: path)).map { (path, Int($0.st_size)) }
        }
    }
}

/// The log in memory, with the domains that it describes.
protocol LoggedState: Sendable {
    var log: ChangeLog { get set }
    /// The entries that the log's file lacks, in order; `nil` if they aren't collected.
    var outbox: [LogEntry]? { get set }

    /// The number of each session's last edit that changed nothing, so that no record has it, while the log's file
    /// lacks it.
    var unrecorded: [UInt64: UInt64] { get set }
    /// The number of each session's last edit, for the next agent.
    var sessions: [UInt64: UInt64] { get }
    /// Whether the log's file holds pending edits of excluded keys, which stay there until they are saved.
    var hasExcludedEdits: Bool { get }

    /// Sets the keys whose values the log's file may not hold from now on.
    mutating func exclude(_ exclusions: HistoryExclusions)
    /// Returns the marks of all domains' files.
    func marks() -> [LogEntry]
    /// Returns the marks that a recovered log lacks, to which some records are added.
    func marks(lackedBy earlier: RecoveredLog, _ published: [LogRecord]) -> [LogEntry]
}
