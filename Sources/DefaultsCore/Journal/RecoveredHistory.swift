import Glibc
import Linux

/// The history that earlier agents left.
package struct RecoveredHistory: Sendable {
    /// The change log to continue; `nil` if there is none.
    package private(set) var log: RecoveredLog?
    /// The revision of the last record.
    package private(set) var head: Revision = 0
    /// Whether the fallback's files have nothing that isn't in the usual place.
    package private(set) var hasWholeFallback = true
    /// Sentences about damage.
    package private(set) var warnings: [String] = []

    /// Returns the log in memory with which the store continues.
    package func changeLog(_ capacity: ChangeLog.Capacity) -> ChangeLog {
        // The records of a damaged log have gaps between them, and are only in the archive.
        let records = log?.isDamaged == false ? log?.records ?? [] : []
        return ChangeLog(capacity: capacity, epoch: log?.epoch ?? .random(), head: head, records: records)
    }

    /// The distance by which a new log skips revisions if an earlier one is lost, but not its archive.
    ///
    /// It exceeds the number of records in any log, so that a number in a user's notes never comes to mean another
    /// change set.
    fileprivate static let skippedRevisions: Revision = 1_000_000

    /// Recovers what earlier agents left.
    ///
    /// If the last agent had to use the fallback, its records follow those in the usual place. A log that is damaged is
    /// moved aside, and the intact ones of its records are added to the archive.
    ///
    /// - Parameters:
    ///   - location: The usual place.
    ///   - exclusions: The keys whose values don't get into the archive.
    /// - Throws: `unreadable` if a file is there, but can't be read now. It may hold unsaved edits, so no new log may
    ///   replace it.
    package init(at location: LogLocation, excluding exclusions: HistoryExclusions) throws(DefaultsError) {
        var usual = LeftFiles(at: location, excluding: exclusions)
        usual.archiveLogsSetAside()
        // The revision up to which changes may be lost.
        var lost: Revision = 0
        let reading = try usual.recoverLog()
        log = reading.log
        if reading.intactLog == nil {
            let newest = try readable(location.archive) { _ throws(SystemCall.Failure) in
                try usual.archive.newestRevision()
            }
            let last = max(newest, log?.head ?? 0)
            head = last > 0 || reading.isDamaged ? last + Self.skippedRevisions : 0
            lost = log.map { $0.mayLackEnd ? head : $0.lastMissing } ?? head
            log?.head = head
        }
        if let fallback = location.fallback {
            var left = LeftFiles(at: fallback, excluding: exclusions)
            // Its archive is added together with its log.
            if access(fallback.log, F_OK) == 0 { left.archiveLogsSetAside() }
            let reading = try left.recoverLog()
            if let later = reading.log {
                try add(later, of: fallback, to: &usual)
            } else if reading.isDamaged {
                hasWholeFallback = false
            }
            // Its changes would be between the last ones here and the next.
            if reading.isDamaged { lost = max(head, log?.head ?? 0) + 1 }
            usual.warnings += left.warnings
        }
        if let log { head = log.head }
        if lost > 0 { usual.recordLoss(through: lost) }
        warnings = usual.warnings
        for location in [location, location.fallback].compactMap(\.self) {
            let files = [location.log, location.archive]
            let others = files.flatMap(DamagedCopies.paths) + [ExclusionsFile(besideLog: location.log).path]
            warnings += (files + others).compactMap(Self.protect)
        }
    }

    /// Restores mode 600; returns a sentence about another mode.
    private static func protect(_ path: String) -> String? {
        guard let status = try? FileStatus(at: path, followsLinks: false), status.isRegular, status.isOpenToOthers
        else { return nil }
        let mode = String(status.st_mode & 0o777, radix: 8)
        return "Other users could access \(path), whose mode was \(mode). "
            + (chmod(path, 0o600) == 0 ? "Its mode is 600 again." : "Its mode can't be changed.")
    }

    /// Adds the log of an agent that used the fallback.
    private mutating func add(
        _ later: RecoveredLog, of fallback: LogLocation, to usual: inout LeftFiles
    ) throws(DefaultsError) {
        let file = try readable(fallback.archive) { path throws(SystemCall.Failure) in
            try HistoryFile(reading: path)
        }
        let archived = Array((file.map { Array($0.records(before: .max)) } ?? []).reversed())
        var older = archived
        if log != nil || head > 0 {
            // Without a log in the usual place, the records in the usual archive may have the same numbers.
            log = log ?? RecoveredLog(at: fallback.log, header: ChangeLogHeader(epoch: .random(), start: head))
            log?.add(later, archived: archived)
            // The log that follows a damaged one begins without records.
            older = log?.isDamaged == true ? log?.records.filter { $0.revision > head } ?? [] : []
        } else {
            // An earlier version stored the whole history there.
            log = later
            log?.identity = LogIdentity()
            log?.identity.added = LogIdentity.Position(log: later.identity.log, revision: later.head)
        }
        do throws(SystemCall.Failure) {
            try usual.archive.append(older, excluding: usual.exclusions)
        } catch {
            hasWholeFallback = false
        }
    }
}

/// Returns whether there is a regular file at a path.
private func isRegular(_ path: String) throws(SystemCall.Failure) -> Bool {
    do throws(SystemCall.Failure) { return try FileStatus(at: path, followsLinks: false).isRegular } catch {
        guard error.number == ENOENT || error.number == ENOTDIR else { throw error }
        return false
    }
}

/// Reads a file that is there.
private func readable<Value>(
    _ path: String, _ read: (_ path: String) throws(SystemCall.Failure) -> Value
) throws(DefaultsError) -> Value {
    do throws(SystemCall.Failure) {
        return try read(path)
    } catch {
        throw DefaultsError(.unreadable, errno: error.number, "\(path) can't be read").adding(
            "It may hold unsaved edits and your history, so nothing replaces it.",
            remedy: "Check the disk and the file's permissions, or move the file away.")
    }
}

/// The files that an earlier agent left in one place.
private struct LeftFiles {
    let log: String
    let exclusions: HistoryExclusions
    var archive: HistoryArchive
    /// Sentences about damage.
    var warnings: [String] = []

    init(at location: LogLocation, excluding exclusions: HistoryExclusions) {
        (log, archive, self.exclusions) = (location.log, HistoryArchive(path: location.archive), exclusions)
    }

    /// Recovers the log, and moves a damaged one aside.
    mutating func recoverLog() throws(DefaultsError) -> RecoveredLog.Reading {
        let reading = try readable(log) { path throws(SystemCall.Failure) in try RecoveredLog.read(from: path) }
        if !reading.isDamaged { return reading }
        if reading.log == nil, try !readable(log, isRegular) { return .missing }
        var (isArchived, outcome) = (true, "Its intact changes are in the history")
        do throws(SystemCall.Failure) {
            try add(reading.log?.records ?? [])
        } catch {
            isArchived = false
            outcome =
                "Its changes aren't in the history, because \(archive.path) can't be written: "
                + SystemCall.message(error.number)
        }
        let copy = DamagedCopies.nextPath(of: log, isArchived: isArchived)
        let isMoved = rename(log, copy) == 0
        warnings.append(
            "The change log is damaged, so a new one begins. \(outcome). "
                + (isMoved ? "The damaged file was moved to \(copy)." : "The damaged file can't be moved from \(log).")
        )
        return reading
    }

    /// Adds the records of a damaged log to the archive.
    private mutating func add(_ records: [LogRecord]) throws(SystemCall.Failure) {
        let newest = try archive.newestRevision()
        try archive.append(records.filter { $0.revision > newest }, excluding: exclusions)
    }

    /// Tries again to add the records of damaged logs that were set aside because the archive couldn't be written.
    mutating func archiveLogsSetAside() {
        for path in DamagedCopies.unarchivedPaths(of: log) {
            var outcome = "can't be added to the history anymore"
            do throws(SystemCall.Failure) {
                // If the archive has later records, these can't follow them.
                if let earlier = try RecoveredLog.read(from: path).log, try archive.newestRevision() <= earlier.head {
                    try add(earlier.records)
                    let skipped = RecoveredHistory.skippedRevisions
                    let lost = earlier.mayLackEnd ? earlier.head + skipped : earlier.lastMissing
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
    mutating func recordLoss(through revision: Revision) {
        do throws(SystemCall.Failure) {
            try archive.recordLoss(through: revision)
        } catch {
            warnings.append(
                "Earlier values may be shown as if no change were lost, because \(archive.path) can't be written: "
                    + SystemCall.message(error.number))
        }
    }
}
