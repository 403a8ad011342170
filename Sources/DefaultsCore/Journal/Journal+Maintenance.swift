import Glibc
import Linux

extension Journal {
    /// Maintains the files.
    ///
    /// Moves records to the archive if the log's file is too large, and thins the archive if that is too large. Writes
    /// the log to its file again if that had failed. Removes excluded keys from both files, and with them any damaged
    /// copies of the files. Failures are in `problem` and `archiveProblem`.
    ///
    /// Waits for the disk, and takes up to a few seconds; other threads can use the log meanwhile.
    ///
    /// - Parameters:
    ///   - state: The log, with the domains.
    ///   - limits: The limits of the archive.
    ///   - hasSettings: Whether exclusions of no key are recorded, too, since they are the user's choice.
    ///   - now: The current time.
    func maintain(
        _ state: ForkSafeMutex<some LoggedState>, within limits: HistoryLimits, hasSettings: Bool, now: Timestamp
    ) {
        archive.withLock { archive in
            let (mustRedact, exclusions, isOwn) = logFile.withLock { file in
                file.isMaintenanceRequested = false
                return (file.redaction == nil, file.exclusions, file.isOpen)
            }
            // The files may be another agent's now.
            if !isOwn { return }
            recordExclusions(hasSettings)
            let isLogClean = !state.withLock(\.hasExcludedEdits)
            let isReplaced = replaceFile(of: state, within: limits, archive: &archive)
            do throws(SystemCall.Failure) {
                let redaction = mustRedact && isLogClean ? UInt64.random(in: 1...UInt64(Int64.max)) : nil
                if mustRedact && isLogClean || archive.isOversized(limits.bytes) {
                    try archive.thin(limits, without: exclusions.ofEarlierEntries, redaction: redaction, now: now)
                }
                if mustRedact, isLogClean, isReplaced {
                    // Damaged copies may have excluded keys.
                    for place in [location, location.fallback].compactMap(\.self) {
                        for path in [place.log, place.archive] { DamagedCopies.remove(of: path) }
                    }
                    logFile.withLock { if $0.exclusions == exclusions { $0.redaction = redaction } }
                    // Only now, so that an agent that ends before leaves the rest to the next one.
                    recordExclusions(hasSettings)
                }
            } catch {
                logFile.withLock { $0.report(error, as: "The archive \(location.archive) can't be thinned") }
            }
        }
    }

    /// Makes the exclusions known to later agents, and whether they have been applied to what is in the history.
    private func recordExclusions(_ hasSettings: Bool) {
        func contents() -> ExclusionsFile.Contents {
            logFile.withLock { ExclusionsFile.Contents(exclusions: $0.exclusions, redaction: $0.redaction) }
        }
        let (file, current) = (ExclusionsFile(besideLog: location.log), contents())
        file.write(current, mayBeMissing: !hasSettings)
        // They may have changed meanwhile, as in `LogFileState.exclude`.
        if contents() != current { file.forget() }
    }

    // MARK: New versions of the log's file

    /// The consequence for records of the old version that can't be archived.
    private enum Unarchived {
        /// No new version is written.
        case stay
        /// The new version has them, too.
        case copied
        /// The new version lacks them.
        case dropped
    }

    /// Writes a new version of the log's file, if it needs one.
    ///
    /// - Returns: False if the file needs one, but couldn't be replaced.
    func replaceFile(
        of state: ForkSafeMutex<some LoggedState>, within limits: HistoryLimits, archive: inout HistoryArchive
    ) -> Bool {
        do throws(SystemCall.Failure) {
            guard let (planned, unarchived) = try prepare(state, within: limits) else { return true }
            var contents = planned
            // Write the version first: if this fails, nothing has been added to the archive.
            var new: ChangeLogFile? = try draft(contents)
            do throws(SystemCall.Failure) {
                try moveRecords(contents, or: unarchived, to: &archive)
            } catch {
                switch unarchived {
                case .stay: throw error
                case .copied: contents.copyLost()
                case .dropped: break
                }
                // The disk may not have enough space for both versions.
                new = nil
                new = try draft(contents)
            }
            if let new { try finish(new, with: contents, of: state) }
            return true
        } catch {
            logFile.withLock { file in
                // The next attempt is made when the file has grown by half, if it is being written.
                if file.problem == nil, let old = file.file { old.sizeLimit += old.sizeLimit / 2 }
                // The log was closed, or its exclusions have changed, and this is called again.
                if error.number == ECANCELED || file.problem != nil || file.archiveProblem != nil { return }
                file.report(
                    error, as: "The change log \(location.log) can't be replaced", consequence: "It keeps growing.")
            }
            return false
        }
    }

    /// Determines the contents of a new version of the log's file; `nil` if the file needs none.
    private func prepare(
        _ state: ForkSafeMutex<some LoggedState>, within limits: HistoryLimits
    ) throws(SystemCall.Failure) -> (ChangeLogFile.Contents, Unarchived)? {
        try logFile.withLock { file throws(SystemCall.Failure) in
            guard file.needsNewVersion else { return nil }
            // The directory and the lock of the log may have been removed or replaced.
            if !file.isInPlace { try location.makeDirectory() }
            try file.renewLock(at: location)
            let ((log, marks, sessions), _) = withWrittenEntries(state, in: &file) {
                ($0.log, $0.marks(), $0.sessions)
            }
            let contents = ChangeLogFile.Contents(
                of: log, marks: marks, sessions: sessions, excluding: file.exclusions, sizeLimit: file.sizeLimit,
                replacing: file.file,
                copies: file.redaction != nil)
            return (contents, Self.unarchived(contents, in: file, limits: limits))
        }
    }

    private static func unarchived(
        _ contents: ChangeLogFile.Contents, in file: borrowing LogFileState, limits: HistoryLimits
    ) -> Unarchived {
        // Records are copied as they are, so they must not have excluded keys, or be missing between others.
        let mayCopy = contents.isLostAdjacent && file.redaction != nil
        if contents.end > max(file.sizeLimit, contents.old?.firstSizeLimit ?? 0) + limits.bytes {
            // If these records aren't what makes the file large, a new version is small even with them.
            return mayCopy && contents.lost.reduce(0) { $0 + $1.count } <= limits.bytes ? .copied : .dropped
        }
        // A log that isn't being written needs a new version all the same.
        return file.problem != nil && mayCopy ? .copied : .stay
    }

    /// Writes a new version of the log's file beside it, and waits until it is on the disk.
    func draft(_ contents: ChangeLogFile.Contents) throws(SystemCall.Failure) -> ChangeLogFile {
        let new = try ChangeLogFile(drafting: contents, for: location.log)
        try new.synchronize()
        return new
    }

    /// Appends the records that the new version of the log's file lacks to the archive.
    ///
    /// If the system ends before the file is replaced, some records are in both files, which readers can tell.
    private func moveRecords(
        _ contents: ChangeLogFile.Contents, or unarchived: Unarchived, to archive: inout HistoryArchive
    ) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            if let old = contents.old {
                var lost: [UInt8] = []
                try old.read(contents.lost) { lost += $0 }
                try archive.append(lost)
                // Of a file that was cut, only the records in memory are left.
                if !contents.isWhole, try archive.newestRevision() + 1 < contents.first {
                    try archive.recordLoss(through: contents.first - 1)
                }
            }
            logFile.withLock { $0.archiveProblem = nil }
        } catch {
            let consequence =
                unarchived == .dropped
                ? "They have been dropped from the history." : "The change log keeps growing."
            logFile.withLock {
                $0.report(error, as: "Older changes can't be moved to \(location.archive)", consequence: consequence)
            }
            throw error
        }
    }

    /// Completes the new version of the log's file with the latest entries, and replaces the old one.
    private func finish(
        _ new: ChangeLogFile, with contents: ChangeLogFile.Contents, of state: ForkSafeMutex<some LoggedState>
    ) throws(SystemCall.Failure) {
        var unwritten: [LogEntry] = []
        try logFile.withLock { file throws(SystemCall.Failure) in
            do throws(SystemCall.Failure) {
                // The agent has closed the log, or the exclusions have changed again.
                guard file.isOpen, file.file === contents.old, file.exclusions == contents.exclusions else {
                    throw SystemCall.Failure(number: ECANCELED)
                }
                if let old = file.writtenFile, old.isWhole {
                    try new.copyEntries(of: old, after: contents.end)
                } else {
                    // If the old version couldn't be written, or was cut, the latest entries are only in memory.
                    let entries: [LogEntry]? = state.withLock { state in
                        guard let records = state.log.records(after: contents.head) else { return nil }
                        (unwritten, state.outbox) = (state.outbox ?? [], [])
                        return records.map { .record($0) } + state.marks()
                    }
                    guard let entries else { throw SystemCall.Failure(number: EAGAIN) }
                    try new.append(entries)
                }
                // A file that replaced it may be needed by its owner. A file that was only cut stays until then, since
                // its edits may be unsaved.
                if file.file?.isNamed == false, access(location.log, F_OK) == 0 {
                    try SystemCall.run { rename(location.log, DamagedCopies.nextPath(of: location.log)) }
                }
                try new.replaceOld()
            } catch {
                let isWriting = file.writtenFile != nil
                state.withLock { $0.outbox = isWriting ? unwritten + ($0.outbox ?? []) : nil }
                throw error
            }
            file.phase = .writing(new)
        }
    }
}
