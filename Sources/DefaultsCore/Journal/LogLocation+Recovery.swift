import Glibc
import Linux

extension LogLocation {
    /// The history that earlier agents left.
    package struct Recovered: Sendable {
        /// The change log to continue; `nil` if there is none.
        package fileprivate(set) var log: ChangeLogFile.Recovered?
        /// The revision of the last record.
        package fileprivate(set) var head: Revision = 0
        /// Whether the fallback's files have nothing that isn't in the usual place.
        package fileprivate(set) var hasWholeFallback = true
        /// Sentences about damage.
        package fileprivate(set) var warnings: [String] = []

        /// Returns the log in memory with which the store continues.
        package func changeLog(_ capacity: ChangeLog.Capacity) -> ChangeLog {
            // The records of a damaged log have gaps between them, and are only in the archive.
            let records = log?.isDamaged == false ? log?.records ?? [] : []
            return ChangeLog(capacity: capacity, epoch: log?.epoch ?? .random(), head: head, records: records)
        }
    }

    /// The distance by which a new log skips revisions if an earlier one is lost, but not its archive.
    ///
    /// It exceeds the number of records in any log, so that no number that somebody noted means another change set.
    private static let skippedRevisions: Revision = 1_000_000

    /// Recovers what earlier agents left.
    ///
    /// If the last agent had to use the fallback, its records follow those in the usual place. A log that is damaged is
    /// moved aside, and the intact ones of its records are added to the archive.
    ///
    /// - Parameter exclusions: The keys whose values don't get into the archive.
    /// - Returns: The log to continue, and sentences about damage.
    /// - Throws: `unreadable` if a file is there, but can't be read now. It may hold unsaved edits, so no new log may
    ///   replace it.
    package func recover(excluding exclusions: HistoryExclusions) throws(DefaultsError) -> Recovered {
        var recovered = Recovered()
        archiveLogsSetAside(exclusions, &recovered.warnings)
        var isThere = false
        // The revision up to which changes may be lost.
        var lost: Revision = 0
        recovered.log = try recover(log, exclusions, &recovered.warnings, &isThere)
        if recovered.log?.isDamaged ?? true {
            let newest = try readable(archive) { path throws(SystemCall.Failure) in
                try HistoryArchive(path: path).newestRevision()
            }
            let last = max(newest, recovered.log?.head ?? 0)
            recovered.head = last > 0 || isThere ? last + Self.skippedRevisions : 0
            lost = recovered.log.map { $0.mayLackEnd ? recovered.head : $0.lastMissing } ?? recovered.head
            recovered.log?.head = recovered.head
        }
        if let fallback {
            var isDamaged = false
            // Its archive is added together with its log.
            if access(fallback.log, F_OK) == 0 { fallback.archiveLogsSetAside(exclusions, &recovered.warnings) }
            let later = try fallback.recover(fallback.log, exclusions, &recovered.warnings, &isDamaged)
            if let later { try add(later, fallback, exclusions, to: &recovered) }
            recovered.hasWholeFallback = recovered.hasWholeFallback && (later != nil || !isDamaged)
            // Its changes would be between the last ones here and the next.
            if isDamaged { lost = max(recovered.head, recovered.log?.head ?? 0) + 1 }
        }
        if let log = recovered.log { recovered.head = log.head }
        if lost > 0 { recordLoss(through: lost, &recovered.warnings) }
        for location in [self, fallback].compactMap(\.self) {
            let files = [location.log, location.archive]
            let others = files.flatMap(DamagedCopies.paths) + [ExclusionsFile(besideLog: location.log).path]
            for path in files + others { Self.protect(path, &recovered.warnings) }
        }
        return recovered
    }

    /// Restores mode 600.
    private static func protect(_ path: String, _ warnings: inout [String]) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else { return }
        let mode = String(status.st_mode & 0o777, radix: 8)
        warnings.append(
            "Other users could access \(path), whose mode was \(mode). "
                + (chmod(path, 0o600) == 0 ? "Its mode is 600 again." : "Its mode can't be changed."))
    }

    /// Adds the log of an agent that used the fallback.
    private func add(
        _ later: ChangeLogFile.Recovered, _ fallback: LogLocation, _ exclusions: HistoryExclusions,
        to recovered: inout Recovered
    ) throws(DefaultsError) {
        let file = try readable(fallback.archive) { path throws(SystemCall.Failure) in
            try HistoryFile(reading: path)
        }
        let archived = Array((file.map { Array($0.records(before: .max)) } ?? []).reversed())
        if var log = recovered.log {
            log.add(later, archived: archived)
            recovered.log = log
        } else if recovered.head > 0 {
            // The records in the usual archive may have the same numbers.
            var log = ChangeLogFile.Recovered(
                fallback.log, ChangeLogHeader(epoch: .random(), start: recovered.head))
            log.add(later, archived: archived)
            recovered.log = log
        } else {
            // An earlier version kept the whole history there.
            var log = later
            log.identity = LogIdentity(adding: .init(log: later.identity.log, revision: later.head))
            recovered.log = log
            do throws(SystemCall.Failure) {
                var archive = HistoryArchive(path: archive)
                try archive.append(archived, excluding: exclusions)
            } catch {
                recovered.hasWholeFallback = false
            }
        }
    }

    /// Reads a file that is there.
    private func readable<Value>(
        _ path: String, _ read: (_ path: String) throws(SystemCall.Failure) -> Value
    ) throws(DefaultsError) -> Value {
        do throws(SystemCall.Failure) {
            return try read(path)
        } catch {
            throw DefaultsError(
                .unreadable, errno: error.number,
                "\(path) can't be read. It may hold unsaved edits and your history, so nothing replaces it. Check the "
                    + "disk and the file's permissions, or move the file away. The system says")
        }
    }

    /// Recovers a log, and moves a damaged one aside.
    private func recover(
        _ path: String, _ exclusions: HistoryExclusions, _ warnings: inout [String], _ isThere: inout Bool
    ) throws(DefaultsError) -> ChangeLogFile.Recovered? {
        let reading = try readable(path) { path throws(SystemCall.Failure) in
            try ChangeLogFile.recover(from: path, limits: Frame.messageLimits)
        }
        var damaged: ChangeLogFile.Recovered?
        switch reading {
        case .missing: return nil
        case .recovered(let log) where !log.isDamaged: return log
        case .recovered(let log): damaged = log
        case .unusable:
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        }
        isThere = true
        var outcome = "Its intact changes are in the history"
        let copy: String
        do throws(SystemCall.Failure) {
            try archive(damaged?.records ?? [], exclusions)
            copy = DamagedCopies.nextPath(of: path)
        } catch {
            copy = DamagedCopies.nextUnarchivedPath(of: path)
            outcome =
                "Its changes aren't in the history, because \(archive) can't be written: "
                + SystemCall.message(error.number)
        }
        let isMoved = rename(path, copy) == 0
        warnings.append(
            "The change log is damaged, so a new one begins. \(outcome). "
                + (isMoved ? "The damaged file was moved to \(copy)." : "The damaged file can't be moved from \(path).")
        )
        return damaged
    }

    /// Adds the records of a damaged log to the archive.
    private func archive(_ records: [LogRecord], _ exclusions: HistoryExclusions) throws(SystemCall.Failure) {
        var archive = HistoryArchive(path: archive)
        let newest = try archive.newestRevision()
        try archive.append(records.filter { $0.revision > newest }, excluding: exclusions)
    }

    /// Tries again to add the records of damaged logs that were set aside because the archive couldn't be written.
    private func archiveLogsSetAside(_ exclusions: HistoryExclusions, _ warnings: inout [String]) {
        for path in DamagedCopies.unarchivedPaths(of: log) {
            var outcome = "can't be added to the history anymore"
            do throws(SystemCall.Failure) {
                // If the archive has later records, these can't follow them.
                if case .recovered(let earlier) = try ChangeLogFile.recover(from: path, limits: Frame.messageLimits),
                    try HistoryArchive(path: archive).newestRevision() <= earlier.head
                {
                    try archive(earlier.records, exclusions)
                    let lost = earlier.mayLackEnd ? earlier.head + Self.skippedRevisions : earlier.lastMissing
                    var archive = HistoryArchive(path: archive)
                    if lost > 0 { try archive.recordLoss(through: lost) }
                    outcome = "are in the history now"
                }
                let copy = DamagedCopies.nextPath(of: log)
                try SystemCall.run { rename(path, copy) }
                outcome += ". The file was moved to \(copy)."
            } catch {
                // The log stays for the next agent.
                outcome = "still aren't in the history: \(SystemCall.message(error.number))"
            }
            warnings.append("The intact changes in the damaged log \(path) \(outcome)")
        }
    }

    /// Records in the archive that changes are lost, so that earlier values are known to be uncertain.
    private func recordLoss(through revision: Revision, _ warnings: inout [String]) {
        do throws(SystemCall.Failure) {
            var archive = HistoryArchive(path: archive)
            try archive.recordLoss(through: revision)
        } catch {
            warnings.append(
                "Earlier values may be shown as if no change were lost, because \(archive) can't be written: "
                    + SystemCall.message(error.number))
        }
    }

    /// Removes the files in the fallback, whose contents are in the usual place now.
    package func removeFallback() {
        guard let fallback else { return }
        unlink(fallback.log)
        unlink(fallback.archive)
    }
}
