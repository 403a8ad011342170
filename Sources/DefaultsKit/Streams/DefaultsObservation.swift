import PropertyList

#if OVER_FOUNDATION
public import Foundation
import Synchronization
#else
import Linux
#endif

extension UserDefaults {
    /// Calls a closure with a key's value: the current one soon, then the newest after each change.
    ///
    /// This is `updates(of:)` for programs without tasks, such as those with an event loop. The closure is called on
    /// any thread, but never twice at the same time, until the result is released. With an event loop, let `schedule`
    /// pass each call to it:
    ///
    /// ```swift
    /// observation = defaults.observe(.theme, on: { call in window.runOnEventLoop(call) }) { theme in
    ///     window.redraw(theme)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - schedule: A function that runs the closure that it receives, now or later, for example on the thread of an
    ///     event loop; `nil` to call it at once.
    ///   - receive: The closure to call.
    /// - Returns: The observation, which ends when it is canceled or its last reference is released.
    public func observe<Value>(
        _ key: DefaultsKey<Value>, on schedule: (@Sendable (_ call: @escaping @Sendable () -> Void) -> Void)? = nil,
        _ receive: @escaping @Sendable (Value) -> Void
    ) -> DefaultsObservation {
        let observation = DefaultsObservation()
        observation.follow(updates(of: key), on: schedule, receive)
        return observation
    }
}

/// An observation by a closure, which ends when it is canceled or its last reference is released.
public final class DefaultsObservation: Sendable {
    private let task = ForkSafeMutex<Task<Void, Never>?>(nil)
    private let state = State()

    /// Whether the observation has ended; it outlives the observation in scheduled calls.
    private final class State: Sendable {
        private let hasEnded = ForkSafeMutex(false)

        var isActive: Bool { hasEnded.withLock { !$0 } }

        func end() { hasEnded.withLock { $0 = true } }
    }

    init() {}

    deinit { cancel() }

    func follow<Value>(
        _ updates: DefaultsUpdates<Value>, on schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?,
        _ receive: @escaping @Sendable (Value) -> Void
    ) {
        let state = state
        let newest = ForkSafeMutex<Value?>(nil)
        let new = Task.detached {
            for await value in updates {
                guard let schedule else {
                    if state.isActive { receive(value) }
                    continue
                }
                // A call that hasn't begun yet receives this value.
                let isScheduled = newest.withLock { held in
                    defer { held = .some(value) }
                    return held != nil
                }
                if isScheduled { continue }
                schedule {
                    let value = newest.withLock { $0.take() }
                    if let value, state.isActive { receive(value) }
                }
            }
        }
        task.withLock { $0 = new }
    }

    /// Ends the observation.
    ///
    /// The closure isn't called afterwards, except for a call that another thread has begun.
    public func cancel() {
        state.end()
        task.withLock { $0?.cancel() }
    }
}
