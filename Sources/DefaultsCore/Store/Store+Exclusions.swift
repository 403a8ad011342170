import Linux

/// The keys that are excluded from the history.
extension Store {
    /// Names the files that an earlier agent may have used instead of the log and the archive, so that damaged copies
    /// of them are removed with those of the others.
    package func setFallback(log: String, archive: String) {
        logFile.withLock { $0.fallbackPaths = [log, archive] }
    }

    /// Returns whether the change log can't hold all of an edit, so that only its file preserves it.
    package func mustSave(_ request: EditRequest) -> Bool {
        let exclusions = logFile.withLock(\.exclusions)
        if exclusions.isEmpty { return false }
        if request.values.keys.contains(where: { exclusions.exclude($0, of: request.domain) }) { return true }
        return request.replacesAll
            && snapshot(of: request.domain).values.keys.contains { exclusions.exclude($0, of: request.domain) }
    }

    /// Returns whether a domain has pending edits that the change log can't keep for the next agent, because it may not
    /// hold all of their keys.
    package func hasEditsNotLogged(of domain: Domain) -> Bool {
        let exclusions = logFile.withLock(\.exclusions)
        let pending = state.withLock { $0.domains[domain]?.merge.pending ?? [:] }
        return exclusions.edits(pending, of: domain).count < pending.count
    }

    /// Returns the domains with pending edits that would be lost with the agent, in order.
    package func unlogged() -> [Domain] {
        let domains = pending().map(\.domain)
        return logProblem == nil ? domains.filter(hasEditsNotLogged) : domains
    }

    /// Makes the exclusions known to later agents, and whether they have been applied to what is in the history.
    func rememberExclusions() {
        let (location, exclusions, mustRedact, redaction) = logFile.withLock {
            ($0.location, $0.exclusions, $0.mustRedact, $0.redaction)
        }
        guard let location else { return }
        let file = ExclusionsFile(besideLog: location.path)
        let hasSettings = AgentSettings.domain.map { domain in state.withLock { $0.domains[domain] != nil } } ?? false
        file.write(exclusions, areApplied: !mustRedact, redaction, mayBeMissing: !hasSettings)
        // They may have changed meanwhile, as in `LogFileState.exclude`.
        logFile.withLock { if ($0.exclusions, $0.mustRedact) != (exclusions, mustRedact) { file.forget() } }
    }
}

extension Store.LogFileState {
    /// Sets the exclusions of a log that begins, or continues an earlier one.
    mutating func begin(_ exclusions: HistoryExclusions, at path: String, _ earlier: ChangeLogFile.Recovered?) {
        self.exclusions = exclusions
        let remembered = ExclusionsFile(besideLog: path)
        let known = remembered.contents
        // Somebody may have put an older file in place of any other log, and of the archive.
        let isOwn = earlier.map { $0.path == path && $0.isInFile && $0.isIdentified } ?? false
        redaction = known?.redaction ?? 0
        let number = archivePath.flatMap { HistoryArchive(path: $0).redaction }
        // Without an archive, nothing has to be removed from it.
        let isOwnArchive = number == nil || number != 0 && number == redaction
        let areApplied = isOwnArchive && (known.map { $0.areApplied && exclusions.areAll(in: $0.exclusions) } ?? false)
        mustRedact = !exclusions.ofEarlierEntries.isEmpty && !(isOwn && areApplied)
        if !exclusions.areUnknown, let known, known.exclusions != exclusions { remembered.forget() }
    }

    /// Replaces the exclusions.
    mutating func exclude(_ exclusions: HistoryExclusions) {
        if exclusions == self.exclusions { return }
        mustRedact = mustRedact || !exclusions.areAll(in: self.exclusions.ofEarlierEntries)
        // From now on, values of keys that were excluded get into the log. If the agent ended before it remembers that,
        // and the keys were excluded again, these values would stay.
        if let location { ExclusionsFile(besideLog: location.path).forget() }
        self.exclusions = exclusions
        file?.exclusions = exclusions
    }
}
