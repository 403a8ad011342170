import Glibc
import Linux

extension Store {
    /// Writes the log to a file from now on, replacing any file that an earlier agent left there.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - sizeLimit: The size above which the file is rewritten; twice the log's capacity by default.
    ///   - archive: The path of the archive for the records that the file loses; `nil` if they are dropped.
    ///   - exclusions: The keys whose values are never kept in either file.
    /// - Throws: The failure of the system call. A new log then begins, in memory only, since it can't continue the one
    ///   in the file.
    package func keepLog(
        at path: String, sizeLimit: Int? = nil, archive: String? = nil,
        excluding exclusions: HistoryExclusions = HistoryExclusions()
    ) throws(DefaultsError) {
        try logFile.withLock { keeping throws(DefaultsError) in
            keeping.location = (path, sizeLimit)
            keeping.archive = archive.map { HistoryArchive(path: $0) }
            keeping.exclusions = exclusions
            ChangeLogFile.removeLeftovers(of: path)
            do throws(DefaultsError) {
                try create(&keeping, path, sizeLimit)
            } catch {
                // A later agent must not continue the earlier log, but what is in it isn't lost.
                var status = stat()
                if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { rename(path, "\(path).kept") }
                state.withLock { $0.beginLog() }
                throw error
            }
        }
    }

    /// Resumes writing the log to its file after a failure.
    ///
    /// - Throws: The failure of the system call; the log stays in memory.
    package func keepLogAgain() throws(DefaultsError) {
        try logFile.withLock { keeping throws(DefaultsError) in
            guard keeping.problem != nil, let (path, sizeLimit) = keeping.location else { return }
            try create(&keeping, path, sizeLimit)
        }
    }

    /// Makes the log durable as it is, so that the next agent continues it even if the system restarts.
    ///
    /// Waits for the disk. Nothing may be published afterwards.
    package func closeLog() {
        writeLog()
        logFile.withLock { keeping in
            if keeping.file?.isInPlace == false, let (path, sizeLimit) = keeping.location {
                try? create(&keeping, path, sizeLimit)
            }
            try? keeping.file?.close()
        }
    }

    /// The reason why older records aren't being moved to the archive; `nil` if they are.
    package var archiveProblem: DefaultsError? { logFile.withLock { $0.archiveProblem } }

    /// The reason why the log isn't being written to its file; `nil` if it is, or if it has no file.
    package var logProblem: DefaultsError? { logFile.withLock { $0.problem } }

    /// Creates the file with the whole log.
    func create(_ keeping: inout LogFileState, _ path: String, _ sizeLimit: Int?) throws(DefaultsError) {
        let (log, marks, groups) = state.withLock { state in
            state.outbox = []
            return (state.log, state.marks(), state.markGroups())
        }
        do throws(SystemCall.Failure) {
            keeping.file = try ChangeLogFile.create(
                at: path, log: log, marks: marks, groups: groups, sizeLimit: sizeLimit ?? 2 * log.capacity.bytes,
                excluding: keeping.exclusions)
            keeping.problem = nil
        } catch {
            state.withLock { $0.outbox = nil }
            let problem = Self.problem(of: path, error)
            keeping.problem = problem
            throw problem
        }
    }

    private static func problem(of path: String, _ failure: SystemCall.Failure) -> DefaultsError {
        DefaultsError(
            .notSaved, errno: failure.number,
            "The change log can't be written to \(path), so followers will see a gap if the agent ends. "
                + "The system says")
    }

    /// Writes to the log file all entries that it lacks.
    ///
    /// A file that can't be written is abandoned. The log continues in memory, and a later agent begins a new epoch, so
    /// that every cursor meets an explicit gap.
    func writeLog() {
        if let lost = logFile.withLock({ writeLog(to: &$0) }) { reportLostLog(lost) }
    }

    /// Runs a closure on the state while the log file is complete.
    ///
    /// This way, a crash can't lose a record that was already handed out, whose revision would then be used again.
    func withWrittenLog<Value>(_ body: (inout StoreState) -> Value) -> Value {
        let (value, lost) = logFile.withLock { keeping in
            var lost: DefaultsError?
            while true {
                lost = writeLog(to: &keeping) ?? lost
                // New entries may have been added in the meantime.
                let value = state.withLock { state in
                    state.outbox?.isEmpty ?? true ? body(&state) : nil
                }
                if let value { return (value, lost) }
            }
        }
        if let lost { reportLostLog(lost) }
        return value
    }

    /// Writes to the log file all entries that it lacks.
    ///
    /// - Returns: The reason why the file was abandoned, if it was.
    private func writeLog(to keeping: inout LogFileState) -> DefaultsError? {
        do {
            guard keeping.file != nil, let location = keeping.location else { return nil }
            let entries = state.withLock { state in
                defer { state.outbox = [] }
                return state.outbox ?? []
            }
            do throws(SystemCall.Failure) {
                if entries.isEmpty { return nil }
                try keeping.file?.append(entries)
                if keeping.file?.isOversized == true {
                    let (log, marks, groups, more) = state.withLock { state in
                        // The log already includes the entries added to the outbox since it was drained.
                        defer { state.outbox = [] }
                        return (state.log, state.marks(), state.markGroups(), state.outbox ?? [])
                    }
                    if archiveRecords(&keeping, before: log.oldest) {
                        try keeping.file?.rewrite(log: log, marks: marks, groups: groups)
                    } else {
                        try keeping.file?.append(more)
                    }
                }
                return nil
            } catch {
                let isGone = keeping.file?.abandon() ?? true
                keeping.file = nil
                let problem = Self.problem(of: location.path, error)
                keeping.problem = problem
                state.withLock { state in
                    state.outbox = nil
                    // A later agent may recover the file's remaining contents. A new epoch sets them apart from what is
                    // published from now on.
                    if !isGone { state.log.beginEpoch() }
                }
                return problem
            }
        }
    }

    /// Appends the records before a revision to the archive, before the file loses them.
    ///
    /// If the system ends before the file is rewritten, some records are in both files, which readers can tell.
    ///
    /// - Returns: Whether the file may be rewritten. If not, it keeps the records, and the next attempt is made when it
    ///   has grown by half.
    func archiveRecords(_ keeping: inout LogFileState, before oldest: Revision) -> Bool {
        guard keeping.archive != nil else { return true }
        do throws(SystemCall.Failure) {
            let bytes = try keeping.file?.records(before: oldest) ?? []
            if !bytes.isEmpty { try keeping.archive?.append(bytes) }
            keeping.archiveProblem = nil
            return true
        } catch {
            keeping.file?.sizeLimit += (keeping.file?.sizeLimit ?? 0) / 2
            keeping.archiveProblem = DefaultsError(
                .notSaved, errno: error.number,
                "Older changes can't be moved to \(keeping.archive?.path ?? ""), so the change log keeps growing. Free "
                    + "disk space, or check the permissions. The system says")
            return false
        }
    }
}
