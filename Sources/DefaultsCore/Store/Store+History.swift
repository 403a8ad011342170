import Glibc
package import Linux

/// The history: the records of the change log, and those that it has lost to the archive.
extension Store {
    /// Returns a part of the history in the change log, newest first.
    ///
    /// Searches at most a few thousand records, to keep the agent responsive.
    ///
    /// - Throws: `invalidCursor` if the request's cursor isn't of this log.
    package func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage {
        let (exclusions, log, archive) = logFile.withLock { keeping in
            (keeping.exclusions, keeping.file == nil ? nil : keeping.location?.path, keeping.archive?.path)
        }
        let result: Result<HistoryPage, DefaultsError> = withWrittenLog { state in
            if let before = request.before, before.epoch != state.log.epoch || before.revision > state.log.head + 1 {
                return .failure(.otherLog(before))
            }
            return .success(state.log.page(request, without: exclusions))
        }
        var page = try result.get()
        (page.log, page.archive) = (log, archive)
        return page
    }

    /// Sets the keys whose values are never kept on disk, and removes them from the change log file.
    ///
    /// `thinArchive` removes them from the archive.
    package func exclude(_ exclusions: HistoryExclusions) {
        logFile.withLock { keeping in
            guard keeping.exclusions != exclusions else { return }
            keeping.exclusions = exclusions
            guard keeping.file != nil, let (path, sizeLimit) = keeping.location else { return }
            _ = archiveRecords(&keeping, before: state.withLock { $0.log.oldest })
            if (try? create(&keeping, path, sizeLimit)) == nil {
                _ = keeping.file?.abandon()
                keeping.file = nil
            }
        }
    }

    /// Returns whether the archive has grown so much that it should be thinned.
    package func isArchiveOversized(_ thinning: HistoryThinning) -> Bool {
        logFile.withLock { $0.archive?.isOversized(thinning.bytes) ?? false }
    }

    /// Thins the archive, and removes excluded keys from it.
    ///
    /// Reads and writes the whole archive, which takes about a second; other threads can use the store meanwhile.
    ///
    /// - Throws: The failure of the system call; the archive is then as it was.
    package func thinArchive(_ thinning: HistoryThinning, now: Timestamp = .now()) throws(SystemCall.Failure) {
        let (archive, exclusions) = try logFile.withLock { keeping throws(SystemCall.Failure) in
            try keeping.archive?.check()
            return (keeping.archive, keeping.exclusions)
        }
        guard let archive, let file = try HistoryFile(reading: archive.path) else { return }
        let kept = thinning.thin(file, without: exclusions, now: now)
        let replacement = try archive.prepare(kept)
        do throws(SystemCall.Failure) {
            try logFile.withLock { keeping throws(SystemCall.Failure) in
                try keeping.archive?.replace(file, with: replacement)
            }
        } catch {
            unlink(replacement)
            throw error
        }
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
