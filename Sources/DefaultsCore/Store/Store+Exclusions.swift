import Linux

/// The keys that are excluded from the history.
extension Store {
    /// Names the files that an earlier agent may have used instead of the log and the archive, so that damaged copies
    /// of them are removed with those of the others.
    package func noteFallback(log: String, archive: String) {
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

    /// Makes the exclusions known to an agent that can't read its settings.
    func rememberExclusions() {
        let (location, exclusions) = logFile.withLock { ($0.location, $0.exclusions) }
        guard let location else { return }
        let hasSettings = AgentSettings.domain.map { domain in state.withLock { $0.domains[domain] != nil } } ?? false
        ExclusionsFile(besideLog: location.path).write(exclusions, mayBeMissing: !hasSettings)
    }
}
