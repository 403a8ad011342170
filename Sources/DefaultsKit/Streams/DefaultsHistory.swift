#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
public import PropertyList

/// The earlier change sets of some domains, newest first.
///
/// The agent keeps every recent change, and fewer of the older ones to each key; its settings say how many. An instance
/// in memory has a history of its own, without an agent: the last 65,536 change sets, or fewer that take 16 MB.
///
/// Nothing is read until the iteration reaches it, so an iteration may stop at any time. Changes made after the
/// iteration began aren't part of it. It ends at the beginning of the history, or when its task is canceled.
public struct DefaultsHistory: AsyncSequence, Sendable {
    /// A change set.
    public typealias Element = DefaultsChange
    /// The error of a history that can't be read.
    public typealias Failure = DefaultsProblem

    private let source: Result<DefaultsChanges.Source, DefaultsProblem>

    init(_ source: Result<DefaultsChanges.Source, DefaultsProblem>) {
        self.source = source
    }

    /// Begins an iteration at the newest change set.
    public func makeAsyncIterator() -> Iterator { Iterator(source) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: Result<DefaultsChanges.Source, DefaultsProblem>
        private var stream: HistoryStream?
        private var buffer: ArraySlice<DefaultsChange> = []

        init(_ source: Result<DefaultsChanges.Source, DefaultsProblem>) {
            self.source = source
        }

        /// Returns the next older change set; `nil` at the beginning of the history, or if the task is canceled.
        ///
        /// - Throws: A `DefaultsProblem` with the code `agent` if there is no agent, or one without a history; with the
        ///   code `name` if the scope's name can't be a domain's; with the code `agent`, after all others, if older
        ///   change sets can't be read.
        public mutating func next() async throws(DefaultsProblem) -> DefaultsChange? {
            let source = try source.get()
            let stream =
                self.stream
                ?? HistoryStream(
                    source.client,
                    matching: SubscriptionFilter(domains: source.names.map { GlobPattern.exactly($0.description) }))
            self.stream = stream
            while buffer.isEmpty {
                if Task.isCancelled { return nil }
                switch await stream.next() {
                case .failure(let error): throw DefaultsProblem(.agent, because: error)
                case .success(let items):
                    if items.isEmpty { return nil }
                    buffer = items.compactMap { DefaultsChange($0, from: source) }[...]
                }
            }
            return buffer.popFirst()
        }
    }
}

extension DefaultsChange {
    /// Creates a change set from a record; `nil` if nothing changed in it.
    fileprivate init?(_ item: HistoryStream.Item, from source: DefaultsChanges.Source) {
        guard let changeSet = item.record.changeSet, !changeSet.changes.isEmpty else { return nil }
        self.init(
            changeSet, at: item.record.time, cursor: item.cursor, isOwn: changeSet.source == .app(.current),
            domain: source.domain(changeSet.domain))
    }
}

extension UserDefaults {
    /// The outcome of undoing a change set.
    public struct UndoResult: Hashable, Sendable {
        /// The changes made, from the present values to the former ones.
        public let changes: [KeyChange<PropertyListValue?>]
        /// The keys that have been changed again since, and keep their values.
        public let keptKeys: [String]
    }

    /// Returns the earlier change sets of some domains, newest first.
    ///
    /// ```swift
    /// for try await change in defaults.history(of: .application) where change.source == .thisProcess {
    ///     print(change.time, change.changes.map(\.key))
    /// }
    /// ```
    public func history(of scope: ChangeScope) -> DefaultsHistory { DefaultsHistory(source(of: scope)) }

    /// Undoes a change set from a stream of changes or from the history, and returns when the result is durable.
    ///
    /// Its keys get back their former values in one edit, except for those that have been changed again since: a later
    /// edit is never lost. The new change set has the purpose `.undo` in its `origin`. Undoing the change set
    /// of an undo is a redo, and has the purpose `.redo`.
    ///
    /// A preferences window can offer undo for the changes that the user has made in it:
    ///
    /// ```swift
    /// var edits: [DefaultsChange] = []
    /// for try await event in defaults.changes(in: .application) {
    ///     if case .change(let change) = event, change.source == .thisProcess { edits.append(change) }
    /// }
    ///
    /// func undo() async throws {
    ///     guard let last = edits.popLast() else { return }
    ///     let result = try await defaults.undo(last)
    ///     if !result.keptKeys.isEmpty { show("\(result.keptKeys) were changed by another program.") }
    /// }
    /// ```
    ///
    /// - Parameter change: The change set; it may be another program's, and about any of the user's domains.
    /// - Returns: The changes made, and the keys that keep their values.
    /// - Throws: A `DefaultsProblem` with the code `agent` if there is no agent or the connection is lost; `edit` if
    ///   the domain is read-only or its file damaged; or `saving` if the values have been changed, but aren't durable
    ///   yet.
    @discardableResult
    public func undo(_ change: DefaultsChange) async throws(DefaultsProblem) -> UndoResult {
        let (changeSet, cursor) = change.parts
        let isRedo = change.origin?.purpose?.name == "undo"
        switch await change.domain.client.takeBack(changeSet, at: cursor, isRedo: isRedo) {
        case .success(let outcome):
            return UndoResult(
                changes: outcome.changes.map { KeyChange(key: $0.key, oldValue: $0.old, newValue: $0.new) },
                keptKeys: outcome.kept.keys.sorted())
        case .failure(let error):
            switch error.code {
            case .readOnly, .invalidValue, .damaged: throw DefaultsProblem(.edit, because: error)
            case .notSaved, .openForWriting: throw DefaultsProblem(.saving, because: error)
            default: throw DefaultsProblem(.agent, because: error)
            }
        }
    }
}
#endif
