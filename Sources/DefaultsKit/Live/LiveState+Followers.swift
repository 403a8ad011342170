import DefaultsCore

/// Who follows change sets.
extension LiveState {
    /// Tells someone of all change sets from now on.
    mutating func add(_ follower: ChangeFollower) {
        followers.append((follower, after: unsaved.seal()))
        for name in follower.names { hold(name) }
    }

    /// Tells someone no more.
    mutating func remove(_ follower: ChangeFollower) {
        followers.removeAll { $0.follower === follower }
        for name in follower.names { letGo(name) }
    }

    /// Hands a record to those who follow its domain.
    func post(_ event: StreamEvent, _ effects: inout LiveEffects) {
        guard case .record(let record, let cursor) = event else { return }
        let own = ownNumber(record)
        // What was set before someone began to follow isn't told, even if the agent has only now confirmed it.
        for (follower, last) in followers where follower.wants(record.domain) && own.map({ $0 > last }) ?? true {
            follower.append(record, cursor, isOwn: own != nil || isCommit(record))
            effects.wakeUps.append(follower.wakeUp)
        }
    }

    /// The number of the own edit that a record is, if it is one.
    private func ownNumber(_ record: LogRecord) -> UInt64? {
        guard case .change(let changeSet) = record.event, let edit = changeSet.edit, edit.session == session else {
            return nil
        }
        return edit.number
    }

    /// Whether a record is an own conditional edit.
    private func isCommit(_ record: LogRecord) -> Bool {
        if case .change(let changeSet) = record.event { changeSet.edit?.session == commitSession } else { false }
    }

    /// Tells followers that they have missed something of a name.
    func postGap(of name: DomainName, _ effects: inout LiveEffects) {
        for (follower, _) in followers where follower.wants(Domain(name)) {
            follower.appendGap()
            effects.wakeUps.append(follower.wakeUp)
        }
    }
}
