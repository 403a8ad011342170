import PropertyList

/// A change of one key's value, as the search finds it.
public struct DefaultsKeyChange<Value: Sendable>: Sendable {
    /// The value before; the key's default when it had none.
    public let old: Value
    /// The value since; the key's default when it has none.
    public let new: Value
}

extension DefaultsKeyChange: Equatable where Value: Equatable {}
extension DefaultsKeyChange: Hashable where Value: Hashable {}

/// A stream of each change of a key's value, with the old value.
///
/// Each change's old value is the previous one's new value. If more than 1,024 changes are pending, the later ones are merged
/// into one. The stream ends when its task is cancelled.
public struct DefaultsKeyChanges<Value: DefaultsValue>: AsyncSequence, Sendable {
    /// A change of the key's value.
    public typealias Element = DefaultsKeyChange<Value>
    /// It never fails.
    public typealias Failure = Never

    private let defaults: UserDefaults
    private let key: DefaultsKey<Value>

    init(_ defaults: UserDefaults, _ key: DefaultsKey<Value>) {
        self.defaults = defaults
        self.key = key
    }

    /// Begins an iteration: each change from now on is in it.
    public func makeAsyncIterator() -> Iterator { Iterator(defaults, key) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let defaults: UserDefaults
        private let key: DefaultsKey<Value>
        private let observed: ObservedKeys
        private let waiting = PendingChanges()
        private var taken: ArraySlice<PendingChanges.Change> = []

        init(_ defaults: UserDefaults, _ key: DefaultsKey<Value>) {
            self.defaults = defaults
            self.key = key
            // What a first search finds is no change.
            if defaults.live.isStale || !defaults.list.hasSearched { defaults.live.search(defaults.list) }
            observed = ObservedKeys(defaults, [key.name], recordingIn: waiting)
        }

        /// Waits for the next change; `nil` when the task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }

        /// Waits for the next change; `nil` when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while !Task.isCancelled {
                if let change = taken.popFirst() {
                    return Element(old: key.read(change.old, in: defaults), new: key.read(change.new, in: defaults))
                }
                taken = waiting.drain()[...]
                if taken.isEmpty, await !observed.wakeUp.wait(isolation: actor) { return nil }
            }
            return nil
        }
    }
}

extension UserDefaults {
    /// Follows every value of a key: each change of the value that the search finds, whoever made it, with the value before.
    ///
    /// `updates(of:)` gives a slow consumer only the newest value; this gives every one. The first element is the first change
    /// after the iteration begins. A transaction, or one reload of a file, is one change.
    ///
    /// ```swift
    /// for await change in defaults.changes(of: .quality) {
    ///     undoManager.record(change.old, change.new)
    /// }
    /// ```
    public func changes<Value>(of key: DefaultsKey<Value>) -> DefaultsKeyChanges<Value> {
        DefaultsKeyChanges(self, key)
    }
}
