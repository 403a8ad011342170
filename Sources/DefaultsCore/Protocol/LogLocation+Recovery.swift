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
    package func recover(excluding exclusions: HistoryExclusions) -> Recovered {
        var recovered = Recovered()
        var isThere = false
        recovered.log = recover(log, exclusions, &recovered.warnings, &isThere)
        if recovered.log == nil {
            let newest = HistoryArchive(path: archive).newestRevision
            recovered.head = newest > 0 || isThere ? newest + Self.skippedRevisions : 0
        }
        if let fallback {
            var isDamaged = false
            let later = fallback.recover(fallback.log, exclusions, &recovered.warnings, &isDamaged)
            if let later { add(later, fallback, exclusions, to: &recovered) }
            recovered.hasWholeFallback = recovered.hasWholeFallback && (later != nil || !isDamaged)
        }
        if let log = recovered.log { recovered.head = log.head }
        return recovered
    }

    /// Adds the log of an agent that used the fallback.
    private func add(
        _ later: ChangeLogFile.Recovered, _ fallback: LogLocation, _ exclusions: HistoryExclusions,
        to recovered: inout Recovered
    ) {
        let file = (try? HistoryFile(reading: fallback.archive)) ?? nil
        let archived = file.map { Array($0.records(before: .max)) } ?? []
        if var log = recovered.log {
            // An older log has been added before, but couldn't be removed.
            guard let newest = later.records.last, newest.time > log.records.last?.time ?? Timestamp(nanoseconds: .min)
            else { return }
            log.append(later, archived: archived.reversed())
            recovered.log = log
        } else if recovered.head > 0 {
            // The records in the usual archive may have the same numbers.
            var log = ChangeLogFile.Recovered(
                fallback.log, ChangeLogHeader(epoch: .random(), start: recovered.head))
            log.append(later, archived: archived.reversed())
            recovered.log = log
        } else {
            // An earlier version kept the whole history there.
            recovered.log = later
            do throws(SystemCall.Failure) {
                var archive = HistoryArchive(path: archive)
                try archive.append(archived.reversed(), excluding: exclusions)
            } catch {
                recovered.hasWholeFallback = false
            }
        }
    }

    /// Recovers a log, and moves a damaged one aside.
    private func recover(
        _ path: String, _ exclusions: HistoryExclusions, _ warnings: inout [String], _ isThere: inout Bool
    ) -> ChangeLogFile.Recovered? {
        if let log = ChangeLogFile.recover(from: path, limits: Frame.messageLimits) { return log }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        isThere = true
        let records = ChangeLogFile.salvage(from: path, limits: Frame.messageLimits)
        var archive = HistoryArchive(path: archive)
        let newest = archive.newestRevision
        var outcome = "Its intact changes are in the history"
        do throws(SystemCall.Failure) {
            try archive.append(records.filter { $0.revision > newest }, excluding: exclusions)
        } catch {
            outcome =
                "Its changes aren't in the history, because \(archive.path) can't be written: "
                + SystemCall.message(error.number)
        }
        let copy = Path.unused("\(path)\(HistoryArchive.damagedSuffix)")
        let isMoved = rename(path, copy) == 0
        warnings.append(
            "The change log is damaged, so a new one begins. \(outcome). "
                + (isMoved ? "The damaged file was moved to \(copy)." : "The damaged file can't be moved from \(path).")
        )
        return nil
    }

    /// Removes the files in the fallback, whose contents are in the usual place now.
    package func removeFallback() {
        guard let fallback else { return }
        unlink(fallback.log)
        unlink(fallback.archive)
    }
}
