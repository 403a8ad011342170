import DefaultsCore

/// The followers of change sets.
extension ClientState {
    /// Delivers all change sets to a follower from now on.
    mutating func add(_ follower: ChangeFollower) {
        followers.append((follower, after: unsaved.seal()))
        for name in follower.names { hold(name) }
    }

    /// Stops delivering change sets to a follower.
    mutating func remove(_ follower: ChangeFollower) {
        followers.removeAll { $0.follower === follower }
        for name in follower.names { release(name) }
    }

    /// Delivers a record to the followers of its domain.
    func publish(_ event: StreamEvent, into effects: inout ClientEffects) {
        guard case .record(let record, let cursor) = event else { return }
        let own = ownNumber(record)
        // A follower doesn't get edits made before it was added, even if the agent confirms them only now.
        for (follower, last) in followers where follower.wants(record.domain) && own.map({ $0 > last }) ?? true {
            follower.append(record, at: cursor, isOwn: own != nil || isCommit(record))
            effects.wakeUps.append(follower.wakeUp)
        }
    }

    /// Returns the number of the edit that a record belongs to, if this process made it.
    private func ownNumber(_ record: LogRecord) -> UInt64? {
        guard case .change(let changeSet) = record.event, let edit = changeSet.edit, edit.session == session else {
            return nil
        }
        return edit.number
    }

    /// Returns whether a record belongs to a conditional edit of this process.
    private func isCommit(_ record: LogRecord) -> Bool {
        if case .change(let changeSet) = record.event { changeSet.edit?.session == commitSession } else { false }
    }

    /// Delivers a gap to the followers of a name, since they have missed changes.
    func publishGap(of name: DomainName, into effects: inout ClientEffects) {
        for (follower, _) in followers where follower.wants(Domain(name)) {
            follower.appendGap()
            effects.wakeUps.append(follower.wakeUp)
        }
    }
}
