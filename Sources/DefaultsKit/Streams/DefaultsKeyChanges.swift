#if !OVER_FOUNDATION
import DefaultsClient
import PropertyList

/// A change to one key.
public struct KeyChange<Value: Sendable>: Sendable {
    /// The key's name.
    public let key: String
    /// The value before the change.
    ///
    /// If the key had no value, this is the key's default in a typed stream, and `nil` in a change set.
    public let oldValue: Value
    /// The value after the change.
    ///
    /// If the key was removed, this is the key's default in a typed stream, and `nil` in a change set.
    public let newValue: Value
}

extension KeyChange: Equatable where Value: Equatable {}
extension KeyChange: Hashable where Value: Hashable {}

/// A stream of each change to a key's value, with the old value.
///
/// Each change's old value is the previous change's new value. If more than 1,024 changes are pending, later ones are
/// merged into the last. The stream ends when its task is canceled.
public struct DefaultsKeyChanges<Value: DefaultsValue>: AsyncSequence, Sendable {
    /// A change to the key's value.
    public typealias Element = KeyChange<Value>
    /// The stream never fails.
    public typealias Failure = Never

    private let defaults: UserDefaults
    private let key: DefaultsKey<Value>

    init(in defaults: UserDefaults, of key: DefaultsKey<Value>) {
        self.defaults = defaults
        self.key = key
    }

    /// Starts an iteration.
    ///
    /// If this process has already loaded the values, the iteration receives each change from now on. Otherwise, it
    /// receives changes from the first call of `next()` on, which suspends until the values have arrived.
    public func makeAsyncIterator() -> Iterator { Iterator(in: defaults, of: key) }

    /// An iteration over the stream; one task at a time may use it.
    public struct Iterator: AsyncIteratorProtocol {
        private let defaults: UserDefaults
        private let key: DefaultsKey<Value>
        /// The registration; `nil` until the key's value is known.
        private var observed: ObservedKeys?
        private let pending = PendingChanges()
        private var buffer: ArraySlice<PendingChanges.Change> = []

        init(in defaults: UserDefaults, of key: DefaultsKey<Value>) {
            self.defaults = defaults
            self.key = key
            if defaults.client.searchIfLoaded(defaults.list) { observed = observe() }
        }

        /// Registers for changes from now on; the result of an earlier search isn't a change.
        private func observe() -> ObservedKeys { ObservedKeys(defaults, keys: [key.name], recordingIn: pending) }

        /// Waits for the next change, and returns it on the caller's actor; `nil` when the task is canceled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if observed == nil {
                guard await defaults.client.searched(defaults.list) else { return nil }
                observed = observe()
            }
            guard let wakeUp = observed?.wakeUp else { return nil }
            while !Task.isCancelled {
                if let change = buffer.popFirst() {
                    return Element(
                        key: key.name, oldValue: key.read(change.old, in: defaults),
                        newValue: key.read(change.new, in: defaults))
                }
                buffer = pending.drain()[...]
                if buffer.isEmpty, await !wakeUp.wait(isolation: actor) { return nil }
            }
            return nil
        }
    }
}

extension UserDefaults {
    /// Returns a stream of every change to a key's value that the search finds, with the value before it.
    ///
    /// It reports changes by all processes. The first element is the first change after the iteration starts. A
    /// transaction, or one reload of a file, is one change. Unlike `updates(of:)`, which skips to the newest value for
    /// a slow consumer, this stream delivers every change. It ends when its task is canceled.
    ///
    /// ```swift
    /// for await change in defaults.changes(of: .quality) {
    ///     undoManager.record(change.oldValue, change.newValue)
    /// }
    /// ```
    public func changes<Value>(of key: DefaultsKey<Value>) -> DefaultsKeyChanges<Value> {
        DefaultsKeyChanges(in: owner(of: key.domain), of: key)
    }
}
#endif
