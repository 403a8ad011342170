import Synchronization

extension Store {
    /// Subscribes at a place of the log.
    ///
    /// The caller keeps the subscription, and reads it with `next`.
    package func subscribe(
        _ start: Subscription.Start, filter: SubscriptionFilter, mode: Subscription.Mode
    ) -> Subscription {
        withWrittenLog { Subscription(start, filter: filter, mode: mode, log: $0.log) }
    }

    /// What comes next for a subscriber.
    ///
    /// The filter is applied when the store's lock is released.
    ///
    /// - Returns: the events, and where one of them is `snapshotDue`, the values at that very place.
    package func next(
        for subscription: inout Subscription, limit: Int = 64
    ) -> (events: [SubscriptionEvent], snapshots: [DomainSnapshot]) {
        while true {
            let (portion, all) = withWrittenLog { state in
                let portion = subscription.portion(of: state.log, limit: limit)
                return (portion, portion.beginsWithSnapshot ? state.snapshots() : [])
            }
            // Not under the lock: a filter may take its time, and everyone else would wait for it.
            guard let events = subscription.next(in: portion) else { continue }
            return (events, all.compactMap { subscription.filter($0) })
        }
    }

    /// How many records wait for a subscriber.
    package func lag(of subscription: Subscription) -> Revision {
        state.withLock { subscription.lag(in: $0.log) }
    }
}
