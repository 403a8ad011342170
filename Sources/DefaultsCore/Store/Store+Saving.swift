import Linux

/// Saving, which the store's `Saver` does.
extension Store {
    /// Saves a domain's edits, and merges what foreign writers have changed in the meantime.
    ///
    /// Waits for the disk. A read-only domain has nothing to save.
    ///
    /// On return, every edit that was made before the call is durable. On an error, the edits stay pending, the error
    /// is recorded for `failures()`, and the file is unchanged, unless it was written but couldn't be made durable.
    ///
    /// - Parameters:
    ///   - domain: The domain to save.
    ///   - policy: The way to deal with a held lock and with open writers.
    /// - Throws: The reason why edits aren't saved. An error that the policy reports for a retry isn't recorded.
    package func save(_ domain: Domain, onObstacle policy: ObstaclePolicy = .wait) throws(DefaultsError) {
        guard domain.user == .current, state.withLock({ $0.plan(for: domain) }) != nil else { return }
        let (_, failure) = try whileSaving { saver throws(DefaultsError) in
            try saver.save(domain, applying: nil, onObstacle: policy)
        }
        if let failure { throw failure }
    }

    /// Records that a domain's edits can't be saved because an obstacle has lasted too long.
    package func recordSaveFailure(of domain: Domain, because failure: DefaultsError) {
        transition { state in ((), state.failed(domain, because: lifetime.explaining(failure), now: .now())) }
    }

    /// Applies an edit and saves it, without letting another store on the same directory intervene.
    ///
    /// The edit's condition is therefore checked against the values in the file. Waits for the disk. An edit that was
    /// applied but can't be saved yet is in effect and pending, like any other.
    ///
    /// - Returns: The cursor of the edit's record, or the log's end if nothing changed; and the error if the edit
    ///   isn't saved.
    /// - Throws: The errors of `submit`, or the reason why the directory can't be locked or read; the edit is then not
    ///   applied.
    package func commit(
        _ request: EditRequest, onObstacle policy: ObstaclePolicy = .wait
    ) throws(DefaultsError) -> (cursor: Cursor, failure: DefaultsError?) {
        try request.check()
        // Fail without disk access if the known values already contradict the edit's condition.
        if state.withLock({ $0.conditionFails(request) }) { throw .condition(of: request.domain) }
        let (applied, failure) = try whileSaving { saver throws(DefaultsError) in
            try saver.save(request.domain, applying: request, onObstacle: policy)
        }
        return (applied ?? cursor, failure)
    }

    // MARK: Displaced files

    /// Returns whether a displaced file was open for writing when it was last examined, or may have been left by an
    /// earlier agent, and so may need a merge.
    package func hasOpenDisplaced(among domains: Set<Domain>?) -> Bool {
        let (open, hasLeftovers) = state.withLock { ($0.openDisplaced, $0.hasLeftovers) }
        return hasLeftovers || (domains.map { !$0.isDisjoint(with: open) } ?? !open.isEmpty)
    }

    /// Examines displaced files again, and releases those that have no writer left and whose changes are saved.
    ///
    /// A resident store also removes the lock file that it has kept, and handles leftovers of a crash. A file that
    /// isn't released keeps its hidden name, so that the next store finds it if this one ends.
    ///
    /// Reads from the disk.
    ///
    /// - Parameter age: The minimum time since a file's displacement before it is released.
    /// - Returns: Whether files remain that must be examined again.
    package func examineDisplaced(olderThan age: Duration = .zero) -> Bool {
        whileSaving { $0.examineDisplaced(olderThan: age) }
    }

    /// Releases displaced files for about a millisecond, so that saves by other threads needn't wait for all of them.
    ///
    /// Reads from the disk.
    ///
    /// - Parameter age: The minimum time since a file's displacement before it is released.
    /// - Returns: Whether more files are old enough, and calling this again may release them.
    package func releaseSomeDisplaced(olderThan age: Duration) -> Bool {
        whileSaving { $0.releaseSomeDisplaced(olderThan: age) }
    }

    /// The paths of displaced files left to the next store, because they are still being written or their changes can't
    /// be saved.
    package var displacedPaths: [String] { whileSaving { $0.displacedPaths } }

    /// Calls a closure while no other thread saves.
    private func whileSaving<Value: Sendable, Failure>(
        _ body: (inout Saver) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try saving.withLock { saver throws(Failure) in
            // A saver refers to its store, so it can't be created before the store is.
            var current = saver.take() ?? Saver(of: self)
            let result = Result { () throws(Failure) in try body(&current) }
            saver = consume current
            return try result.get()
        }
    }
}
