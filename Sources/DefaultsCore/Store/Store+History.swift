import Glibc
import Linux

/// The history: the records of the change log, and those that it has lost to the archive.
extension Store {
    /// Returns a part of the history in the change log, newest first.
    ///
    /// Searches at most a few thousand records, to keep the agent responsive.
    ///
    /// - Throws: `invalidCursor` if the request's cursor isn't of this log.
    package func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage {
        let (exclusions, log, archive) = logFile.withLock { ($0.exclusions, $0.file?.path, $0.archivePath) }
        let result: Result<HistoryPage, DefaultsError> = withWrittenLog { state in
            if let before = request.before, before.epoch != state.log.epoch || before.revision > state.log.head + 1 {
                return .failure(.otherLog(before))
            }
            return .success(state.log.page(request, without: exclusions))
        }
        var page = try result.get()
        // A client that doesn't find these files must report that.
        page.log = log.flatMap { access($0, F_OK) == 0 ? $0 : nil }
        page.archive = archive.flatMap { access($0, F_OK) == 0 ? $0 : nil }
        return page
    }

    /// Sets the keys whose values are never kept on disk.
    ///
    /// `maintainHistory` removes them from the files.
    package func exclude(_ exclusions: HistoryExclusions) {
        logFile.withLock { $0.exclude(exclusions) }
    }

    /// The sizes in bytes of the files with the history, by path.
    package var historyFiles: [(path: String, bytes: Int)] {
        let paths = logFile.withLock { [$0.file?.path, $0.archivePath] }.compactMap(\.self)
        return paths.compactMap { path in
            var status = stat()
            return stat(path, &status) == 0 ? (path, Int(status.st_size)) : nil
        }
    }

    /// The reason why older records aren't being moved to the archive; `nil` if they are.
    package var archiveProblem: DefaultsError? { logFile.withLock { $0.archiveProblem } }

    // MARK: Maintenance

    /// Maintains the files with the history.
    ///
    /// Moves records to the archive if the change log file is too large, and thins the archive if that is too large.
    /// Writes the log to its file again if that had failed. Removes excluded keys from both files, and with them any
    /// damaged copies of the files. Failures are in `logProblem` and `archiveProblem`.
    ///
    /// Waits for the disk, and takes up to a few seconds; other threads can use the store meanwhile.
    package func maintainHistory(_ thinning: HistoryLimits, now: Timestamp = .now()) {
        archive.withLock { archive in
            let (mustRedact, exclusions) = logFile.withLock { keeping in
                keeping.isMaintenanceRequested = false
                return (keeping.mustRedact, keeping.exclusions)
            }
            rememberExclusions()
            let isLogClean = replaceLogFile(&archive, thinning)
            do throws(SystemCall.Failure) {
                let redaction = UInt64.random(in: 1...UInt64(Int64.max))
                if mustRedact || archive?.isOversized(thinning.bytes) == true {
                    try archive?.thin(
                        thinning, without: exclusions.ofEarlierEntries, redaction: mustRedact ? redaction : nil,
                        now: now)
                }
                if mustRedact, isLogClean {
                    removeDamagedCopies()
                    logFile.withLock { keeping in
                        if keeping.exclusions == exclusions { keeping.mustRedact = false }
                        keeping.redaction = redaction
                    }
                    // Only now, so that an agent that ends before leaves the rest to the next one.
                    rememberExclusions()
                }
            } catch {
                report(error, "The archive \(archive?.path ?? "") can't be thinned")
            }
        }
    }

    /// Whether the files with the history aren't as they should be, so that maintaining them must be tried again.
    package var needsMaintenance: Bool {
        logFile.withLock(\.needsNewVersion)
    }

    /// Sets `archiveProblem`.
    private func report(_ failure: SystemCall.Failure, _ problem: String) {
        logFile.withLock {
            $0.archiveProblem = DefaultsError(
                .notSaved, errno: failure.number,
                "\(problem). Free disk space, or check the permissions. The system says")
        }
    }

    /// The consequence for records of the old version that can't be archived.
    private enum Unarchived {
        /// No new version is written.
        case stay
        /// The new version has them, too.
        case copied
        /// The new version lacks them.
        case dropped
    }

    /// The preparation of a new version of the log file.
    private struct LogReplacement {
        /// The old version.
        let old: ObjectIdentifier?
        var contents: ChangeLogFile.Contents
        /// The records in the old version.
        let records: ChangeLogFile.RecordReader?
        let path: String
        let sizeLimit: Int
        let exclusions: HistoryExclusions
        let unarchived: Unarchived
        /// Whether nobody has changed the size of the old version.
        let isWhole: Bool
    }

    /// Writes a new version of the log file, if it needs one.
    ///
    /// - Returns: False if the file needs one, but couldn't be replaced.
    func replaceLogFile(_ archive: inout HistoryArchive?, _ thinning: HistoryLimits) -> Bool {
        do throws(SystemCall.Failure) {
            guard var replacement = try prepareReplacement(thinning) else { return true }
            // Write the version first: if this fails, nothing has been added to the archive.
            var new = try draft(replacement)
            do throws(SystemCall.Failure) {
                try moveRecords(replacement, to: &archive)
            } catch {
                new.discard()
                switch replacement.unarchived {
                case .stay: throw error
                case .copied: replacement.contents.keepLost()
                case .dropped: break
                }
                new = try draft(replacement)
            }
            try logFile.withLock { keeping throws(SystemCall.Failure) in try finish(replacement, new, &keeping) }
            return true
        } catch {
            logFile.withLock { keeping in
                // The next attempt is made when the file has grown by half.
                keeping.file?.sizeLimit += (keeping.file?.sizeLimit ?? 0) / 2
                // The log was closed, or its exclusions have changed, and this is called again.
                if error.number == ECANCELED { return }
                guard keeping.problem == nil, keeping.archiveProblem == nil else { return }
                keeping.archiveProblem = DefaultsError(
                    .notSaved, errno: error.number,
                    "The change log \(keeping.location?.path ?? "") can't be replaced, so it keeps growing. Free disk "
                        + "space, or check the permissions. The system says")
            }
            return false
        }
    }

    /// Writes a new version of the log file beside it.
    private func draft(_ replacement: LogReplacement) throws(SystemCall.Failure) -> ChangeLogFile {
        let new = try ChangeLogFile(
            drafting: replacement.contents, copyingWith: replacement.records, for: replacement.path,
            sizeLimit: replacement.sizeLimit, replacement.exclusions)
        do throws(SystemCall.Failure) {
            try new.synchronize()
            return new
        } catch {
            new.discard()
            throw error
        }
    }

    /// Determines the contents of a new version of the log file; `nil` if the file needs none.
    private func prepareReplacement(
        _ thinning: HistoryLimits
    ) throws(SystemCall.Failure) -> LogReplacement? {
        try logFile.withLock { keeping throws(SystemCall.Failure) in
            guard let (path, sizeLimit) = keeping.location, keeping.needsNewVersion else { return nil }
            if !keeping.isInPlace { try renewLock(&keeping, path) }
            let ((log, marks, groups), _) = withWrittenLog(&keeping) { ($0.log, $0.marks(), $0.markGroups()) }
            let contents =
                keeping.file?.contents(log: log, marks: marks, groups: groups, copies: !keeping.mustRedact)
                ?? ChangeLogFile.Contents(of: log, marks, groups)
            return LogReplacement(
                old: keeping.file.map { ObjectIdentifier($0) }, contents: contents, records: try keeping.file?.reader(),
                path: path, sizeLimit: sizeLimit, exclusions: keeping.exclusions,
                unarchived: Self.unarchived(contents, keeping, sizeLimit, thinning),
                isWhole: keeping.file?.isWhole ?? true)
        }
    }

    private static func unarchived(
        _ contents: ChangeLogFile.Contents, _ keeping: LogFileState, _ sizeLimit: Int, _ thinning: HistoryLimits
    ) -> Unarchived {
        // Records are copied as they are, so they must not have excluded keys, or be missing between others.
        let mayCopy = contents.isLostAdjacent && !keeping.mustRedact
        let isLarge = contents.end > max(sizeLimit, keeping.file?.firstSizeLimit ?? 0) + thinning.bytes
        if isLarge {
            // If these records aren't what makes the file large, a new version is small even with them.
            return mayCopy && contents.lost.reduce(0) { $0 + $1.count } <= thinning.bytes ? .copied : .dropped
        }
        // A log that isn't being written needs a new version all the same.
        return keeping.problem != nil && mayCopy ? .copied : .stay
    }

    /// Makes the directory and the lock of the log again after somebody has removed or replaced them.
    private func renewLock(_ keeping: inout LogFileState, _ path: String) throws(SystemCall.Failure) {
        try LogLock.makeDirectory(forLog: path)
        if keeping.lock?.isCurrent == false {
            guard let lock = try LogLock.attempt(forLog: path) else { throw SystemCall.Failure(number: EBUSY) }
            keeping.lock = lock
        }
    }

    /// Appends the records that the new version of the log file lacks to the archive.
    ///
    /// If the system ends before the file is replaced, some records are in both files, which readers can tell.
    private func moveRecords(
        _ replacement: LogReplacement, to archive: inout HistoryArchive?
    ) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            if archive != nil, let records = replacement.records {
                var lost: [UInt8] = []
                try records.read(replacement.contents.lost) { lost += $0 }
                try archive?.append(lost)
                // Of a file that was cut, only the records in memory are left.
                let first = replacement.contents.first
                if !replacement.isWhole, let newest = try archive?.newestRevision(), newest + 1 < first {
                    try archive?.recordLoss(through: first - 1)
                }
            }
            logFile.withLock { $0.archiveProblem = nil }
        } catch {
            let consequence =
                replacement.unarchived == .dropped
                ? "so they have been dropped from the history" : "so the change log keeps growing"
            report(error, "Older changes can't be moved to \(archive?.path ?? ""), \(consequence)")
            throw error
        }
    }

    /// Completes the new version of the log file with the latest entries, and replaces the old one.
    private func finish(
        _ replacement: LogReplacement, _ new: ChangeLogFile, _ keeping: inout LogFileState
    ) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            // The agent has closed the log, or the exclusions have changed again.
            guard keeping.file.map({ ObjectIdentifier($0) }) == replacement.old,
                keeping.exclusions == replacement.exclusions, keeping.location != nil
            else {
                throw SystemCall.Failure(number: ECANCELED)
            }
            if keeping.problem == nil, let old = keeping.file, old.isWhole {
                try new.copyEntries(of: old, after: replacement.contents.end)
            } else {
                // If the old version couldn't be written, or was cut, the latest entries are only in memory.
                let head = replacement.contents.head
                let entries: [LogEntry]? = state.withLock { state in
                    guard let records = state.log.records(after: head) else { return nil }
                    state.outbox = []
                    return records.map { .record($0) } + state.marks().map { .mark($0) }
                        + state.markGroups().map { .marks($0) }
                }
                guard let entries else { throw SystemCall.Failure(number: EAGAIN) }
                try new.append(entries)
            }
            // What replaced the file may be something that its owner needs. A file that was only cut stays until then,
            // since its edits may be unsaved.
            let path = replacement.path
            if keeping.file?.isNamed == false, access(path, F_OK) == 0 {
                try SystemCall.run { rename(path, DamagedCopies.nextPath(of: path)) }
            }
            try new.publish(at: path)
        } catch {
            new.discard()
            if keeping.problem != nil { state.withLock { $0.outbox = nil } }
            throw error
        }
        keeping.file = new
        keeping.problem = nil
    }

    /// Removes damaged copies of the files, which may have excluded keys.
    private func removeDamagedCopies() {
        let paths = logFile.withLock { [$0.location?.path, $0.archivePath] + $0.fallbackPaths }.compactMap(\.self)
        for path in paths { DamagedCopies.remove(of: path) }
    }
}

extension DefaultsError {
    /// Returns the error for a cursor that isn't of the agent's log.
    package static func otherLog(_ cursor: Cursor) -> DefaultsError {
        DefaultsError(
            .invalidCursor,
            "The cursor \(cursor) belongs to an earlier log; the agent has since started a new one. Run "
                + "`defaults log --json` for current cursors.")
    }
}
