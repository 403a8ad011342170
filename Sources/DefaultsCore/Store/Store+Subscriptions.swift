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
    /// - Returns: the events, and where one of them is `snapshotDue`, the values at that very place.
    package func next(
        for subscription: inout Subscription, limit: Int = 64
    ) -> (events: [SubscriptionEvent], snapshots: [DomainSnapshot]) {
        withWrittenLog { state in
            let events = subscription.next(from: state.log, limit: limit)
            let isDue = events.contains { if case .snapshotDue = $0 { true } else { false } }
            return (events, isDue ? state.snapshots(subscription.filter) : [])
        }
    }

    /// How many records wait for a subscriber.
    package func lag(of subscription: Subscription) -> Revision {
        state.withLock { subscription.lag(in: $0.log) }
    }
}
