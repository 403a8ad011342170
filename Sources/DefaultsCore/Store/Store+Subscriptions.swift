import Linux

extension Store {
    /// Creates a subscription at a position in the log.
    ///
    /// The caller keeps the subscription, and reads it with `next`.
    package func subscribe(
        _ start: Subscription.Start, filter: SubscriptionFilter, mode: Subscription.Mode
    ) -> Subscription {
        withWrittenLog { Subscription(start, filter: filter, mode: mode, log: $0.log) }
    }

    /// Returns the next events for a subscriber; none if it is caught up.
    ///
    /// The filter is applied after the store's lock is released.
    package func next(for subscription: inout Subscription, limit: Int = 64) -> [StreamEvent] {
        while true {
            let (portion, snapshots) = withWrittenLog { state in
                let portion = subscription.portion(of: state.log, limit: limit)
                return (portion, portion.beginsWithSnapshot ? state.snapshots() : [])
            }
            // Not under the lock: a filter may be slow, and all others would wait for it.
            if let events = subscription.next(in: portion, snapshots: snapshots) { return events }
        }
    }

    /// Makes a subscription follow the domains of more names, or start over with those that it follows already.
    ///
    /// The subscription is changed in place, since a copy of its names would take time proportional to their number.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - names: The names.
    /// - Returns: The subscription's position, and the names' values there, which must be delivered next; `nil` if it
    ///   isn't caught up yet.
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

    /// Returns the number of records that are pending for a subscriber.
    package func lag(of subscription: Subscription) -> Revision {
        state.withLock { subscription.lag(in: $0.log) }
    }
}
