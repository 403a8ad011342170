internal import Glibc
internal import Linux

/// The connection between the watcher's callers and its thread: requests go in, dirty names and status come out.
final class WatchChannel: Sendable {
    /// The callers' requests to the thread.
    struct Requests {
        var stop = false
        var rescan = false
        /// Functions to call once everything that has happened so far is ready to be dequeued.
        var drains: [@Sendable () -> Void] = []
    }

    private struct State {
        var requests = Requests()
        var dirty = DirtyNames()
        var status = WatcherStatus(mode: .waiting(.missing))
        /// Whether the thread accepts no further requests.
        var hasEnded = false
        /// Whether the descriptor is closed.
        var isClosed = false
    }

    /// Protects everything that both sides use, and ensures that `wake` isn't used after it is closed.
    ///
    /// The only call made under this lock is `write` on `wake`, which doesn't block.
    private let state = ForkSafeMutex(State())

    /// An eventfd that is readable when there are requests.
    let wake: Int32
    /// An eventfd that is readable once the thread has set its first watches.
    private let ready: Int32

    let ticks: AsyncStream<Void>
    private let tick: AsyncStream<Void>.Continuation

    init() throws(WatcherError) {
        let wake = EventDescriptor.open()
        let ready = wake < 0 ? -1 : EventDescriptor.open()
        guard ready >= 0 else {
            let code = errno
            if wake >= 0 { Glibc.close(wake) }
            throw WatcherError(
                .outOfResources, errno: code,
                "Can't create an event descriptor (\(errorText(code))). Raise the limit of open files (ulimit -n).")
        }
        self.wake = wake
        self.ready = ready
        (ticks, tick) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { close() }

    // MARK: The callers' side

    func requestStop() { request { $0.stop = true } }

    func requestRescan() { request { $0.rescan = true } }

    func requestDrain(_ then: @escaping @Sendable () -> Void) {
        if !request({ $0.drains.append(then) }) { then() }
    }

    func dequeueDirtyNames() -> DirtyNames {
        state.withLock { state in
            let dirty = state.dirty
            state.dirty = DirtyNames()
            return dirty
        }
    }

    var status: WatcherStatus { state.withLock(\.status) }

    /// Blocks until the thread has called `signalReady()`.
    func waitUntilReady() {
        var descriptor = pollfd(fd: ready, events: Int16(POLLIN), revents: 0)
        while poll(&descriptor, 1, -1) < 1 {}  // signals interrupt it
    }

    /// Closes the descriptors.
    ///
    /// The thread must have ended, or never started.
    func close() {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.isClosed = true
            state.hasEnded = true
            Glibc.close(wake)
            Glibc.close(ready)
        }
    }

    @discardableResult
    private func request(_ change: (inout Requests) -> Void) -> Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            change(&state.requests)
            EventDescriptor.signal(wake)
            return true
        }
    }

    // MARK: The thread's side

    func signalReady() { EventDescriptor.signal(ready) }

    /// Dequeues the requests, after making `wake` unreadable so that a request that arrives in between isn't lost.
    func dequeueRequests() -> Requests {
        EventDescriptor.reset(wake)
        return state.withLock { state in
            let requests = state.requests
            state.requests = Requests()
            return requests
        }
    }

    /// Passes on what the thread has collected.
    func enqueue(_ dirty: DirtyNames, status: WatcherStatus) {
        state.withLock { state in
            state.dirty.merge(dirty)
            state.status = status
        }
        if !dirty.isEmpty { tick.yield() }
    }

    /// Finishes the stream, and completes the pending drains.
    func end() {
        let drains = state.withLock { state in
            state.hasEnded = true
            let drains = state.requests.drains
            state.requests.drains = []
            return drains
        }
        for drain in drains { drain() }
        tick.finish()
    }
}
