import DefaultsCore

/// A stream of all that happens to some domains, from the beginning of the iteration on: every change set, in order.
///
/// Nothing is left out in silence: what couldn't be kept for who is slow is a `gap`. It ends when its task is cancelled.
public struct DefaultsChanges: AsyncSequence, Sendable {
    /// An event of a domain.
    public typealias Element = DefaultsEvent
    /// It never fails.
    public typealias Failure = Never

    private let live: LiveDomains
    private let names: Set<DomainName>

    init(_ live: LiveDomains, _ names: Set<DomainName>) {
        self.live = live
        self.names = names
    }

    /// Begins an iteration: what happens from now on is in it.
    public func makeAsyncIterator() -> Iterator { Iterator(Following(live, names)) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let following: Following
        private var waiting: ArraySlice<DefaultsEvent> = []

        init(_ following: Following) {
            self.following = following
        }

        /// Waits for the next event; `nil` when the task is cancelled.
        public mutating func next() async -> DefaultsEvent? {
            await next(isolation: nil)
        }

        /// Waits for the next event; `nil` when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> DefaultsEvent? {
            while !Task.isCancelled {
                if let event = waiting.popFirst() { return event }
                waiting = following.follower.take().compactMap(DefaultsEvent.init)[...]
                if waiting.isEmpty, await !following.follower.wakeUp.wait(isolation: actor) { return nil }
            }
            return nil
        }
    }

    /// An iteration's place among those who follow, for as long as it lives.
    final class Following: Sendable {
        let follower: ChangeFollower
        private let live: LiveDomains

        init(_ live: LiveDomains, _ names: Set<DomainName>) {
            self.live = live
            follower = ChangeFollower(names: names)
            live.with(Array(names)) { live.add(follower) }
        }

        deinit { live.remove(follower) }
    }
}

extension DefaultsEvent {
    init?(_ item: ChangeFollower.Item) {
        switch item {
        case .gap: self = .gap
        case .record(let record, let cursor, let isOwn):
            switch record.event {
            case .change(let changeSet):
                // One that only tells what lost changed nothing.
                if changeSet.changes.isEmpty { return nil }
                self = .change(DefaultsChange(changeSet, at: record.time, cursor, isOwn: isOwn))
            case .damaged(let domain, let reason): self = .damaged(PreferencesDomain(domain), reason: reason)
            case .unsaved(let domain, let reason): self = .unsaved(PreferencesDomain(domain), reason: reason)
            case .recovered(let domain): self = .recovered(PreferencesDomain(domain))
            // A gap follows.
            case .unknown: return nil
            }
        }
    }
}
