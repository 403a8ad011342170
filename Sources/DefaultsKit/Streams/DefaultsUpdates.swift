#if !OVER_FOUNDATION
package import DefaultsClient
package import PropertyList

/// A stream of a value that depends on some keys, which yields the current value immediately and then the newest value
/// after each change.
///
/// Each iteration starts with the current value and is independent of others. A slow consumer may miss intermediate
/// values, but never the last one. The stream ends when its task is canceled.
public struct DefaultsUpdates<Element: Sendable>: AsyncSequence, Sendable {
    /// The stream never fails.
    public typealias Failure = Never

    private let defaults: UserDefaults
    private let keys: Set<String>?
    /// An additional source whose values are observed.
    private let source: (any ObservationSource)?
    private let read: @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)

    package init(
        _ defaults: UserDefaults, keys: Set<String>?, and source: (any ObservationSource)? = nil,
        read: @escaping @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
    ) {
        self.defaults = defaults
        self.keys = keys
        self.source = source
        self.read = read
    }

    /// Starts an iteration, whose first element is the current value.
    public func makeAsyncIterator() -> Iterator {
        Iterator(defaults, of: ObservedKeys(defaults, keys: keys, and: source), read)
    }

    /// An iteration over the stream; one task at a time may use it.
    public struct Iterator: AsyncIteratorProtocol {
        private let defaults: UserDefaults
        private let observed: ObservedKeys
        private let read: @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
        private var last: [PropertyListValue?]?

        init(
            _ defaults: UserDefaults, of observed: ObservedKeys,
            _ read: @escaping @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
        ) {
            self.defaults = defaults
            self.observed = observed
            self.read = read
        }

        /// Waits for the next value, and returns it on the caller's actor; `nil` when the task is canceled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while !Task.isCancelled {
                if defaults.client.isStale || !defaults.list.hasSearched {
                    guard await defaults.client.searched(defaults.list) else { return nil }
                }
                let (raw, element) = read(defaults)
                if last != raw {
                    last = raw
                    return element
                }
                if await !observed.wakeUp.wait(isolation: actor) { return nil }
            }
            return nil
        }
    }
}

/// A source of values other than the defaults that a stream observes, such as values that a controller hasn't applied
/// yet.
package protocol ObservationSource: AnyObject, Sendable {
    /// Adds an observer of keys.
    func add(_ observation: SearchList.Observation)
    /// Removes an observer.
    func remove(_ wakeUp: WakeUp)
}

/// The registration of an observer of some keys, which lasts as long as this object.
package final class ObservedKeys: Sendable {
    package let wakeUp: WakeUp
    private let defaults: UserDefaults
    private let source: (any ObservationSource)?

    /// Observes changes to some keys, or to all with `nil`, in the defaults and in another source.
    ///
    /// A `recorder` receives each change in the defaults.
    package init(
        _ defaults: UserDefaults, keys: Set<String>?, and source: (any ObservationSource)? = nil,
        recordingIn recorder: PendingChanges? = nil, waking wakeUp: WakeUp = WakeUp()
    ) {
        self.wakeUp = wakeUp
        self.defaults = defaults
        self.source = source
        let observation = SearchList.Observation(keys: keys, observer: wakeUp, recorder: recorder)
        defaults.list.add(observation)
        source?.add(observation)
        defaults.client.beginObserving()
    }

    deinit {
        defaults.list.remove(wakeUp)
        source?.remove(wakeUp)
    }
}
#endif
