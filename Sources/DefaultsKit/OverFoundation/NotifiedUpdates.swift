#if OVER_FOUNDATION
import Foundation
import PropertyList

/// A stream of a value that depends on some keys, which yields the current value immediately and then the newest value
/// after each change that `UserDefaults.didChangeNotification` announces.
///
/// Apple's Foundation posts that notification on the thread of each change by this process. It doesn't post it for
/// changes by other processes, so the stream receives those only with this process's next change.
///
/// Each iteration starts with the current value and is independent of others. A slow consumer may miss intermediate
/// values, but never the last one. The stream ends when its task is canceled.
///
/// Unchecked, since Foundation's class isn't declared Sendable. It has locks of its own, and Apple documents that any
/// thread may use it.
public struct DefaultsUpdates<Element: Sendable>: AsyncSequence, @unchecked Sendable {
    /// The stream never fails.
    public typealias Failure = Never

    private let defaults: UserDefaults
    private let read: @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)

    init(
        _ defaults: UserDefaults, keys: Set<String>?,
        read: @escaping @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
    ) {
        self.defaults = defaults
        self.read = read
    }

    /// Starts an iteration, whose first element is the current value.
    public func makeAsyncIterator() -> Iterator { Iterator(defaults, read) }

    /// An iteration over the stream; one task at a time may use it.
    public struct Iterator: AsyncIteratorProtocol {
        private let defaults: UserDefaults
        private let read: @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
        private let observer: NotificationObserver
        private var wakeUps: AsyncStream<Void>.Iterator
        private var last: [PropertyListValue?]?

        init(
            _ defaults: UserDefaults,
            _ read: @escaping @Sendable (UserDefaults) -> (raw: [PropertyListValue?], element: Element)
        ) {
            self.defaults = defaults
            self.read = read
            observer = NotificationObserver()
            wakeUps = observer.wakeUps.makeAsyncIterator()
        }

        /// Waits for the next value, and returns it; `nil` when the task is canceled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }

        /// Waits for the next value, and returns it on the caller's actor; `nil` when the task is canceled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while !Task.isCancelled {
                let (raw, element) = read(defaults)
                if last != raw {
                    last = raw
                    return element
                }
                if await wakeUps.next(isolation: actor) == nil { return nil }
            }
            return nil
        }
    }
}

/// The registration of an observer of Foundation's notification, which lasts as long as this object.
private final class NotificationObserver {
    /// A stream with an element if there was a notification since the last one.
    let wakeUps: AsyncStream<Void>
    private let token: any NSObjectProtocol

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        wakeUps = stream
        // Instances share their values, so the notification's object may be any of them.
        token = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { _ in continuation.yield() }
    }

    deinit { NotificationCenter.default.removeObserver(token) }
}
#endif
