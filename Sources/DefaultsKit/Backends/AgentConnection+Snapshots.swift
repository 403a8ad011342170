package import DefaultsCore

extension AgentConnection {
    /// The current user's domains that have values or are damaged, as they are now, in order.
    ///
    /// They come as the beginning of a stream, since asking for one at a time would take an exchange for each. So the
    /// connection must have no stream that is still read.
    package func snapshots() throws(DefaultsError) -> [DomainSnapshot] {
        _ = try subscribe(.snapshot, filter: SubscriptionFilter(), mode: .everything)
        let stream = lastNumber
        var snapshots: [DomainSnapshot] = []
        // A bookmark follows them, or the first change after them.
        while case .initial(let snapshot) = try nextEvent(within: patience) {
            if snapshot.domain.user == .current { snapshots.append(snapshot) }
        }
        guard case .unsubscribed = try answer(to: .unsubscribe(stream)) else { throw Self.unexpected("unsubscribe") }
        forgetEvents()
        return snapshots
    }
}
