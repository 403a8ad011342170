#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
import Synchronization

/// A stream of everything that happens to some domains while it is iterated: every change set, in order.
///
/// Nothing is dropped silently: changes that couldn't be kept for a slow consumer are reported as a `gap`. Each
/// iteration has a queue of its own, with up to 1,024 change sets. The stream ends when its task is canceled.
///
/// An iteration starts when the domains' values are here: immediately if this process uses them already, and otherwise
/// during the first call of `next()`, which suspends until they have arrived.
public struct DefaultsChanges: AsyncSequence, Sendable {
    /// An event of a domain.
    public typealias Element = DefaultsEvent
    /// The error of a stream whose name can't be a domain's in a file.
    public typealias Failure = DefaultsProblem

    private let source: Result<Source, DefaultsProblem>

    /// The domains of a stream.
    struct Source: Sendable {
        let defaults: UserDefaults
        let client: Client
        let names: Set<DomainName>

        func domain(_ domain: Domain) -> PreferencesDomain { PreferencesDomain(domain, in: defaults, servedBy: client) }
    }

    init(_ source: Result<Source, DefaultsProblem>) {
        self.source = source
    }

    /// Begins an iteration.
    public func makeAsyncIterator() -> Iterator { Iterator(source.map(Following.init)) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let following: Result<Following, DefaultsProblem>
        private var buffer: ArraySlice<DefaultsEvent> = []

        init(_ following: Result<Following, DefaultsProblem>) {
            self.following = following
        }

        /// Waits for the next event.
        ///
        /// - Parameter actor: The actor that the caller is isolated to.
        /// - Returns: The event; `nil` when the task is canceled.
        /// - Throws: A `DefaultsProblem` with the code `name` when the stream's name can't be a domain's in a file.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DefaultsProblem) -> DefaultsEvent? {
            let following = try following.get()
            guard await following.start() else { return nil }
            while !Task.isCancelled {
                if let event = buffer.popFirst() { return event }
                let source = following.source
                buffer = following.follower.dequeue().compactMap { DefaultsEvent($0, from: source) }[...]
                if buffer.isEmpty, await !following.follower.wakeUp.wait(isolation: actor) { return nil }
            }
            return nil
        }
    }

    /// The registration of one iteration as a follower, which lasts as long as this object.
    final class Following: Sendable {
        let source: Source
        let follower: ChangeFollower
        /// Whether the follower has been added; set by the consumer's task alone.
        private let isAdded: Atomic<Bool>

        init(_ source: Source) {
            self.source = source
            follower = ChangeFollower(names: source.names)
            isAdded = Atomic(source.client.addIfLoaded(follower))
        }

        deinit {
            if isAdded.load(ordering: .relaxed) { source.client.remove(follower) }
        }

        /// Begins to follow, if that had to wait until the domains are loaded.
        ///
        /// - Returns: False if the task was canceled first.
        func start() async -> Bool {
            if isAdded.load(ordering: .relaxed) { return true }
            guard await source.client.addLoading(follower) else { return false }
            isAdded.store(true, ordering: .relaxed)
            return true
        }
    }
}

extension DefaultsEvent {
    init?(_ item: ChangeFollower.Item, from source: DefaultsChanges.Source) {
        switch item {
        case .gap: self = .gap
        case .record(let record, let cursor, let isOwn):
            switch record.event {
            case .change(let changeSet):
                let domain = source.domain(changeSet.domain)
                let change = DefaultsChange(changeSet, at: record.time, cursor: cursor, isOwn: isOwn, domain: domain)
                self = change.changes.isEmpty ? .overruled(change) : .change(change)
            case .damaged(let domain, let reason): self = .damaged(source.domain(domain), reason: reason)
            case .unsaved(let domain, let reason): self = .unsaved(source.domain(domain), reason: reason)
            case .recovered(let domain): self = .recovered(source.domain(domain))
            // A gap follows.
            case .unknown: return nil
            }
        }
    }
}

extension UserDefaults {
    /// The domains that a stream of change sets follows.
    public enum ChangeScope: Hashable, Sendable {
        /// The application's or the suite's own domain.
        case application
        /// The domains of a name.
        case domain(String)
        /// All domains of the search list.
        case searchList
    }

    /// Returns a stream of every change set of some domains, in order, with each key's old and new value.
    ///
    /// It includes changes by this process, by other processes and by programs that write the files. A change set is
    /// reported even if a domain earlier in the search list hides the values. If the scope names the argument or the
    /// registration domain, which have no file, the stream throws a `DefaultsProblem` with the code `name`.
    ///
    /// ```swift
    /// for try await case .change(let changeSet) in defaults.changes(in: .application) {
    ///     for change in changeSet.changes { print(change.key, change.oldValue as Any, change.newValue as Any) }
    /// }
    /// ```
    public func changes(in scope: ChangeScope) -> DefaultsChanges { DefaultsChanges(source(of: scope)) }

    func source(of scope: ChangeScope) -> Result<DefaultsChanges.Source, DefaultsProblem> {
        Result { () throws(DefaultsProblem) in
            switch scope {
            case .application:
                return DefaultsChanges.Source(defaults: self, client: client, names: [domain.name])
            case .searchList:
                return DefaultsChanges.Source(defaults: self, client: client, names: Set(client.names(of: list)))
            case .domain(let text):
                let suite = try resolveSuite(named: text)
                return DefaultsChanges.Source(defaults: self, client: suite.client, names: [suite.name])
            }
        }
    }
}
#endif
