import PropertyList

/// A stream of a value made of some keys: the current one at once, then each time it changes, the newest.
///
/// Every iteration begins with the current value, and has a place of its own; who is slow misses what was in between, and
/// never the last. It ends when its task is cancelled.
public struct DefaultsUpdates<Element: Sendable>: AsyncSequence, Sendable {
    /// It never fails.
    public typealias Failure = Never

    private let defaults: UserDefaults
    private let keys: Set<String>?
    /// Whose values are followed, instead of those of the defaults alone.
    private let controller: UserDefaultsController?
    private let read: @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)

    init(
        _ defaults: UserDefaults, keys: Set<String>?, controller: UserDefaultsController? = nil,
        read: @escaping @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
    ) {
        self.defaults = defaults
        self.keys = keys
        self.controller = controller
        self.read = read
    }

    /// Begins an iteration.
    public func makeAsyncIterator() -> Iterator {
        Iterator(defaults, ObservedKeys(defaults, keys, controller), read)
    }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let defaults: UserDefaults
        private let observed: ObservedKeys
        private let read: @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
        private var last: [PropertyListValue?]?

        init(
            _ defaults: UserDefaults, _ observed: ObservedKeys,
            _ read: @escaping @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
        ) {
            self.defaults = defaults
            self.observed = observed
            self.read = read
        }

        /// Waits for the next value; `nil` when the task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }

        /// Waits for the next value; `nil` when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while !Task.isCancelled {
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
