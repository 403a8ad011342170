import Linux

/// The log on disk.
extension Store {
    /// Writes the log to its file from now on (`Journal.begin`).
    package func beginJournal(
        continuing earlier: RecoveredLog? = nil, sizeLimit: Int? = nil,
        excluding exclusions: HistoryExclusions = HistoryExclusions()
    ) {
        journal?.begin(state, continuing: earlier, sizeLimit: sizeLimit, excluding: exclusions)
    }

    /// Maintains the files of the journal (`Journal.maintain`).
    ///
    /// Waits for the disk, and takes up to a few seconds; other threads can use the store meanwhile.
    package func maintainJournal(_ limits: HistoryLimits, now: Timestamp = .now()) {
        let hasSettings = AgentSettings.domain.map { domain in state.withLock { $0.domains[domain] != nil } } ?? false
        journal?.maintain(state, within: limits, hasSettings: hasSettings, now: now)
    }

    /// Checks that the journal's files are where a later agent looks for them; if not, the observer is asked to call
    /// `maintainJournal`, which writes them again.
    package func checkJournal() { reportLostLog(journal?.newLoss()) }

    /// Makes the log durable as it is, so that the next agent continues it even if the system restarts.
    ///
    /// Waits for the disk. Nothing may be published afterwards.
    package func closeJournal() {
        writeLog()
        journal?.close(state)
    }

    /// Writes to the log file all entries that it lacks.
    func writeLog() { withWrittenLog { _ in } }

    /// Runs a closure on the state while the log file is complete (`Journal.withWrittenEntries`).
    func withWrittenLog<Value: Sendable>(_ body: (inout StoreState) -> Value) -> Value {
        guard let journal else { return state.withLock { body(&$0) } }
        let (value, lost, needsMaintenance) = journal.withWrittenEntries(state, body)
        reportLostLog(lost)
        if needsMaintenance { observer.withLock { $0.object }?.storeNeedsMaintenance() }
        return value
    }

    // MARK: The history

    /// Returns a part of the history in the change log, newest first.
    ///
    /// Searches at most a few thousand records, to keep the agent responsive.
    ///
    /// - Throws: `invalidCursor` if the request's cursor isn't of this log.
    package func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage {
        let exclusions = exclusions
        let result: Result<HistoryPage, DefaultsError> = withWrittenLog { state in
            if let before = request.before, before.epoch != state.log.epoch || before.revision > state.log.head + 1 {
                return .failure(.otherLog(before))
            }
            return .success(state.log.page(request, without: exclusions))
        }
        var page = try result.get()
        // A client that doesn't find these files must report that.
        for (path, _) in journal?.files ?? [] {
            if path == journal?.location.log { page.log = path } else { page.archive = path }
        }
        return page
    }

    private var exclusions: HistoryExclusions { state.withLock(\.exclusions) }

    /// Sets the keys whose values are never stored in the files of the journal; `maintainJournal` removes them.
    ///
    /// Edits of these keys that aren't saved yet stay in the log until they are.
    ///
    /// - Returns: The domains with such edits.
    package func exclude(_ exclusions: HistoryExclusions) -> [Domain] {
        guard let journal else { return [] }
        reportLostLog(journal.exclude(exclusions, state))
        return state.withLock { state in
            state.domains.inUse.filter { $1.merge.pending.values.contains(where: \.isHeld) }.map(\.key).sorted()
        }
    }

    /// Whether the log's file holds pending edits of excluded keys, which stay there until they are saved.
    package var hasExcludedEdits: Bool { state.withLock(\.hasExcludedEdits) }

    /// Returns whether the change log can't hold all of an edit, so that only its file preserves it.
    package func mustSave(_ request: EditRequest) -> Bool {
        let exclusions = exclusions
        if exclusions.isEmpty { return false }
        if request.values.keys.contains(where: { exclusions.exclude($0, of: request.domain) }) { return true }
        return request.replacesAll
            && snapshot(of: request.domain).values.keys.contains { exclusions.exclude($0, of: request.domain) }
    }

    /// Returns whether a domain has pending edits that the change log can't hold for the next agent, because it may not
    /// hold all of their keys.
    package func hasEditsNotLogged(of domain: Domain) -> Bool {
        state.withLock { state in
            state.domains[domain]?.merge.pending.contains { !state.isLogged($1, of: $0, in: domain) } ?? false
        }
    }

    /// Returns the domains with pending edits that would be lost with the agent, in order.
    package func unlogged() -> [Domain] {
        let domains = pending().map(\.domain)
        return journal?.problem == nil ? domains.filter(hasEditsNotLogged) : domains
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
