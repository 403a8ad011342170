import Glibc
import Linux

/// The file of the change log.
extension Store {
    /// Writes the log to a file from now on.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - earlier: The log that the store has resumed. If all of it is in the same file, that file is continued; any
    ///     other file is replaced.
    ///   - sizeLimit: The size above which the file is replaced; twice the log's capacity by default.
    ///   - archive: The path of the archive for the records that the file loses; `nil` if they are dropped.
    ///   - exclusions: The keys whose values are never kept in either file.
    ///   - lock: The lock of the files, if other agents might use them.
    /// - Throws: The failure of the system call. The log then continues in memory only, until `maintainHistory`
    ///   succeeds.
    package func keepLog(
        at path: String, continuing earlier: ChangeLogFile.Recovered? = nil, sizeLimit: Int? = nil,
        archive: String? = nil, excluding exclusions: HistoryExclusions = HistoryExclusions(), lock: LogLock? = nil
    ) throws(DefaultsError) {
        self.archive.withLock { $0 = archive.map { HistoryArchive(path: $0) } }
        // No other thread uses the store yet, so the order of locks doesn't matter here.
        try logFile.withLock { keeping throws(DefaultsError) in
            (keeping.archivePath, keeping.lock) = (archive, lock)
            keeping.begin(exclusions, at: path, earlier)
            ChangeLogFile.removeLeftovers(of: path)
            let (published, state) = state.withLock { state in
                let published = (state.outbox ?? []).compactMap {
                    if case .record(let record) = $0 { record } else { nil }
                }
                state.outbox = []
                return (published, state)
            }
            let log = state.log
            let limit = sizeLimit ?? 2 * log.capacity.bytes
            keeping.location = (path, limit)
            do throws(SystemCall.Failure) {
                if let earlier, earlier.path == path, earlier.isInFile {
                    let file = try ChangeLogFile(continuing: earlier, epoch: log.epoch, sizeLimit: limit, exclusions)
                    keeping.file = file
                    try file.append(
                        published.map { .record($0) } + state.marks(lackedBy: earlier, published))
                } else {
                    // The new file lacks what the log has discarded. The records of a damaged one are in the archive.
                    try self.archive.withLock { archive throws(SystemCall.Failure) in
                        let all = (earlier?.isDamaged == false ? earlier?.records ?? [] : []) + published
                        try archive?.append(all.filter { $0.revision < log.oldest }, excluding: exclusions)
                    }
                    keeping.file = try ChangeLogFile.create(
                        at: path, log: log, marks: state.marks(), groups: state.markGroups(), sizeLimit: limit,
                        identity: earlier?.identity ?? LogIdentity(), excluding: exclusions)
                }
            } catch {
                throw suspend(&keeping, earlier?.path ?? path, error)
            }
        }
    }

    /// Makes the log durable as it is, so that the next agent continues it even if the system restarts.
    ///
    /// Waits for the disk. Nothing may be published afterwards.
    package func closeLog() {
        writeLog()
        // Wait until a new version of the file is complete.
        archive.withLock { archive in
            if logFile.withLock({ !$0.isInPlace }) { _ = replaceLogFile(&archive, HistoryLimits()) }
            logFile.withLock { keeping in
                try? keeping.file?.close()
                (keeping.file, keeping.location, keeping.lock) = (nil, nil, nil)
            }
        }
    }

    /// Checks that the log's file and lock are where a later agent looks for them.
    ///
    /// Somebody may have removed them together with their directory, replaced the file with a copy, or cut it. Then the
    /// observer is asked to call `maintainHistory`, which writes the file again.
    package func checkLog() {
        let lost: String? = logFile.withLock { keeping in
            let isKnown = keeping.isLossReported
            keeping.isLossReported = !keeping.isInPlace
            return keeping.isLossReported && !isKnown ? keeping.location?.path : nil
        }
        guard let lost else { return }
        reportLostLog(
            DefaultsError(
                .notSaved,
                "The change log \(lost) was removed, replaced or cut by another program. It is being written again."))
    }

    /// The reason why the log isn't being written to its file; `nil` if it is, or if it has no file.
    package var logProblem: DefaultsError? { logFile.withLock { $0.problem } }

    /// Stops writing to the file after a failure.
    ///
    /// Its records stay there, for the history. But a later agent must not continue its epoch, since the log continues
    /// in memory: every cursor then meets an explicit gap.
    ///
    /// - Parameters:
    ///   - keeping: The state of the file.
    ///   - path: The path of the file that a later agent may recover.
    ///   - failure: The reason.
    /// - Returns: The problem to report.
    private func suspend(
        _ keeping: inout LogFileState, _ path: String, _ failure: SystemCall.Failure
    ) -> DefaultsError {
        let isMarked = ChangeLogHeader.markOutdated(path)
        let problem = DefaultsError(
            .notSaved, errno: failure.number,
            "The change log can't be written to \(keeping.location?.path ?? path), so followers will see a gap if the "
                + "agent ends. The system says")
        keeping.problem = problem
        state.withLock { state in
            state.outbox = nil
            if !isMarked { state.log.beginEpoch() }
        }
        return problem
    }

    /// Writes to the log file all entries that it lacks.
    ///
    /// If the file can't be written, the log continues in memory, until `maintainHistory` succeeds.
    func writeLog() {
        let (lost, needsMaintenance) = logFile.withLock { keeping in
            (writeLog(to: &keeping), keeping.requestsMaintenance())
        }
        if let lost { reportLostLog(lost) }
        if needsMaintenance { requestMaintenance() }
    }

    /// Runs a closure on the state while the log file is complete.
    ///
    /// This way, a crash can't lose a record that was already handed out, whose revision would then be used again.
    func withWrittenLog<Value: Sendable>(_ body: (inout StoreState) -> Value) -> Value {
        let (value, lost) = logFile.withLock { keeping in withWrittenLog(&keeping, body) }
        if let lost { reportLostLog(lost) }
        return value
    }

    /// Runs a closure on the state while the log file is complete.
    ///
    /// - Returns: The closure's result, and the reason why the file can't be written anymore, if it can't.
    func withWrittenLog<Value: Sendable>(
        _ keeping: inout LogFileState, _ body: (inout StoreState) -> Value
    ) -> (Value, lost: DefaultsError?) {
        var lost: DefaultsError?
        while true {
            lost = writeLog(to: &keeping) ?? lost
            // New entries may have been added in the meantime.
            let value = state.withLock { state in
                state.outbox?.isEmpty ?? true || !keeping.isWriting ? body(&state) : nil
            }
            if let value { return (value, lost) }
        }
    }

    /// Writes to the log file all entries that it lacks.
    ///
    /// - Returns: The reason why the file can't be written anymore, if it can't.
    private func writeLog(to keeping: inout LogFileState) -> DefaultsError? {
        guard let file = keeping.file, keeping.isWriting else { return nil }
        let entries = state.withLock { state in
            defer { if state.outbox != nil { state.outbox = [] } }
            return state.outbox ?? []
        }
        if entries.isEmpty { return nil }
        do throws(SystemCall.Failure) {
            try file.append(entries)
            return nil
        } catch {
            return suspend(&keeping, file.path, error)
        }
    }
}
