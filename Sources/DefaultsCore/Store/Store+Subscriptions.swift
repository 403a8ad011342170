import Linux

extension Store {
    /// Creates a subscription at a position in the log.
    ///
    /// The caller owns the subscription, and gets its events from `next(for:limit:)`.
    package func subscribe(
        _ start: Subscription.Start, filter: SubscriptionFilter, mode: Subscription.Mode
    ) -> Subscription {
        withWrittenLog { Subscription(start, filter: filter, mode: mode, log: $0.log) }
    }

    /// Returns the next events for a subscriber, or none if the subscriber is caught up.
    ///
    /// The filter is applied after the store's lock is released.
    package func next(for subscription: inout Subscription, limit: Int = 64) -> [StreamEvent] {
        while true {
            let (portion, snapshots) = withWrittenLog { state in
                let portion = subscription.portion(of: state.log, limit: limit)
                return (portion, portion.beginsWithSnapshot ? state.snapshots() : [])
            }
            // Filter outside the lock: a slow filter would make every other thread wait.
            if let events = subscription.next(in: portion, snapshots: snapshots) { return events }
        }
    }

    /// Makes a subscription also follow the domains with some names, or start over with names that it already follows.
    ///
    /// The subscription is changed in place, since copying its names would take time proportional to their number.
    ///
    /// - Parameters:
    ///   - subscription: The subscription to widen.
    ///   - names: The names to add.
    /// - Returns: The subscription's position, and the values there of the domains with these names, which must be
    ///   delivered next; `nil` if the subscription isn't caught up yet.
    package func widen(
        _ subscription: inout Subscription?, by names: [DomainName]
    ) -> (cursor: Cursor, snapshots: [DomainSnapshot])? {
        let found: (Cursor, [DomainSnapshot])? = withWrittenLog { state in
            guard subscription?.widen(by: names, in: state.log) == true else { return nil }
            return (state.log.cursor, state.snapshots(ofNames: Set(names)))
        }
        guard let (cursor, snapshots) = found, let filter = subscription?.filter else { return nil }
        return (cursor, snapshots.compactMap { filter($0) })
    }

    /// Returns the number of records that a subscriber has yet to read.
    package func lag(of subscription: Subscription) -> Revision {
        state.withLock { subscription.lag(in: $0.log) }
    }
}
