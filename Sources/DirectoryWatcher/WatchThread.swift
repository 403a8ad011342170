internal import CLinux
internal import Glibc
internal import Linux

/// The thread that owns the inotify instance: it waits, passes events to ``WatcherState``, and checks the paths.
///
/// An object of this class is used only on its own thread. The logic that does no I/O is in ``WatcherState``; watches
/// are set in `WatchThread+Arming.swift`.
final class WatchThread {
    let configuration: DirectoryWatcher.Configuration
    let channel: WatchChannel
    /// The directory's absolute path, without a trailing slash.
    let directory: String
    /// The companions' absolute paths, without trailing slashes.
    private let companions: [String]

    var inotify: Inotify?
    var state: WatcherState
    var mode = WatcherStatus.Mode.waiting(.missing)
    var companionModes: [String: WatcherStatus.Mode] = [:]
    /// Whether any directory is polled, including a missing directory while inotify isn't in use.
    private var isPolling = false
    /// The last listing of each polled directory, by its path.
    private var listings: [String: PollingScan] = [:]

    private let clock = ContinuousClock()
    private var lastCheck: ContinuousClock.Instant
    private var lastRearm: ContinuousClock.Instant
    private var lastTry: ContinuousClock.Instant?
    private var inotifyFailure = InotifyFailure.noDescriptor
    /// Whether events may be left because reading stopped before the queue was empty.
    private var mayHoldEvents = false

    private init(_ configuration: DirectoryWatcher.Configuration, _ channel: WatchChannel) {
        self.configuration = configuration
        self.channel = channel
        let directory = Self.absolutePath(configuration.directory)
        self.directory = directory
        companions = configuration.companions.map(Self.absolutePath).filter { $0 != directory }
        state = WatcherState(subdirectories: configuration.subdirectories, isRelevant: configuration.isRelevant)
        lastCheck = clock.now
        lastRearm = clock.now - configuration.rearmInterval
    }

    /// Starts the thread with all signals blocked, which leaves them to the program's other threads.
    static func start(
        _ configuration: DirectoryWatcher.Configuration, channel: WatchChannel
    ) throws(WatcherError) -> pthread_t {
        let parameters = Unmanaged.passRetained(Parameters(configuration: configuration, channel: channel))
        var thread = pthread_t()
        let code = linux_start_thread(&thread, { WatchThread.main($0) }, parameters.toOpaque())
        guard code == 0 else {
            parameters.release()
            throw WatcherError(
                .outOfResources, errno: code,
                "Can't start the watcher's thread (\(errorText(code))). Raise the limit of processes (ulimit -u).")
        }
        return thread
    }

    private final class Parameters: Sendable {
        let configuration: DirectoryWatcher.Configuration
        let channel: WatchChannel

        init(configuration: DirectoryWatcher.Configuration, channel: WatchChannel) {
            self.configuration = configuration
            self.channel = channel
        }
    }

    private static func main(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let pointer else { return nil }
        let parameters = Unmanaged<Parameters>.fromOpaque(pointer).takeRetainedValue()
        setName("watcher")
        let thread = WatchThread(parameters.configuration, parameters.channel)
        thread.run()
        thread.finish()
        return nil
    }

    // MARK: The loop

    private func run() {
        state.markRescan(.started)
        var isReady = false
        while true {
            let requests = channel.dequeueRequests()
            if requests.rescan {
                state.markRescan(.requested)
                // The limit that made inotify unavailable may have been raised.
                lastTry = nil
            }
            readEvents()
            // A drain also covers what inotify doesn't report, so check the paths now.
            if !requests.drains.isEmpty || requests.rescan || timeToCheck() <= .zero { check() }
            checkArrivals()
            channel.enqueue(state.dequeueDirtyNames(), status: status)
            for drain in requests.drains { drain() }
            if !isReady { channel.signalReady() }
            isReady = true
            if requests.stop { return }
            wait()
        }
    }

    /// Returns the time until the next check of the paths.
    private func timeToCheck() -> Duration {
        if state.checkIsDue { return configuration.rearmInterval - (clock.now - lastRearm) }
        let interval = isPolling ? configuration.pollInterval : configuration.identityCheckInterval
        return interval - (clock.now - lastCheck)
    }

    private func wait() {
        // Round up: a wait that ends just too early would be followed by waits of zero length.
        let time = max(.zero, timeToCheck())
        let milliseconds = time / .milliseconds(1) + 1
        let timeout: Int32 = mayHoldEvents || time == .zero ? 0 : Int32(min(milliseconds, 1_000_000_000))
        var descriptors = [
            pollfd(fd: channel.wake, events: Int16(POLLIN), revents: 0),
            pollfd(fd: inotify?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, nfds_t(descriptors.count), timeout)
    }

    /// Reads the queued events.
    ///
    /// If writers never pause, the queue may never be empty. It is enough to read as much as was queued at the
    /// beginning, plus the size of the buffer, 128 KiB.
    private func readEvents() {
        guard inotify != nil else { return }
        do {
            mayHoldEvents = false
            let limit = (inotify?.queuedBytes ?? 0) + 131_072
            var count = 0
            while let (event, byteCount) = try inotify?.next() {
                state.receive(event)
                count += byteCount
                if count > limit {
                    mayHoldEvents = true
                    return
                }
            }
        } catch {
            // The state of the watches is now unknown. A rescan covers what was missed.
            giveUpInotify(error)
            state.markRescan(.replaced)
            state.requestCheck()
        }
    }

    // MARK: Looking at the paths

    private func check() {
        let rearms = state.rearms
        state.beginCheck()
        openInotify()
        isPolling = false
        mode = pollIfNeeded(directory, reason.map { .polling($0) } ?? arm())
        for path in companions {
            companionModes[path] = pollIfNeeded(path, reason.map { .polling($0) } ?? arm(companion: path))
        }
        checkLinks()
        lastCheck = clock.now
        if state.rearms != rearms || state.checkIsDue { lastRearm = clock.now }
        configuration.onCheck()
    }

    /// The reason why inotify isn't used at all; `nil` if it is in use.
    private var reason: WatcherStatus.PollingReason? {
        if configuration.polling == .always { return .requested }
        return inotify == nil ? .inotifyUnavailable(inotifyFailure) : nil
    }

    private func openInotify() {
        guard configuration.polling == .automatic, inotify == nil else { return }
        if let lastTry, clock.now - lastTry < configuration.retryInterval { return }
        lastTry = clock.now
        do {
            inotify = try Inotify()
        } catch {
            inotifyFailure = error
        }
    }

    /// Releases the inotify instance; a new one is tried after the retry interval.
    func giveUpInotify(_ failure: InotifyFailure) {
        for watch in state.forgetWatches() { inotify?.unwatch(watch) }
        inotify = nil
        inotifyFailure = failure
        lastTry = clock.now
    }

    /// Compares a directory's listings if its mode is polling.
    ///
    /// - Returns: The given mode, or waiting if polling finds no directory to list.
    private func pollIfNeeded(_ path: String, _ mode: WatcherStatus.Mode) -> WatcherStatus.Mode {
        guard case .polling = mode else {
            listings[path] = nil
            return mode
        }
        isPolling = true
        return compareListings(of: path).map { .waiting($0) } ?? mode
    }

    private func compareListings(of path: String) -> WatcherStatus.WaitingReason? {
        var new = PollingScan()
        var obstacle: WatcherStatus.WaitingReason?
        do {
            new = try PollingScan(
                try OpenDirectory(path), subdirectories: configuration.subdirectories,
                isRelevant: configuration.isRelevant)
        } catch {
            let reason = WatcherStatus.WaitingReason(errno: error.number)
            // If descriptors have run out, for example, the listing is meaningless: keep the previous one.
            if case .unreadable(let code) = reason, code != EACCES { return reason }
            obstacle = reason
        }
        if let old = listings[path] {
            if new.identity != old.identity { state.markRescan(.replaced) }
            let isCompanion = path != directory
            if isCompanion, new.hasOtherPermissions(than: old) { state.markRescan(.permissions) }
            state.noteChanges(of: new.changes(since: old).map { isCompanion ? path + "/" + $0 : $0 })
        } else {
            state.markRescan(.polled)
        }
        listings[path] = new
        return obstacle
    }

    private var status: WatcherStatus {
        WatcherStatus(
            mode: mode, companions: companionModes, watches: state.watchCount, overflows: state.overflows,
            rescans: state.rescans, rearms: state.rearms, undecodableNames: state.undecodableNames)
    }

    /// Releases all resources.
    ///
    /// The watches are removed first, so that no more events reach the instance's queue.
    private func finish() {
        for watch in state.forgetWatches() { inotify?.unwatch(watch) }
        inotify = nil
        channel.end()
    }

    private static func absolutePath(_ path: String) -> String {
        var path = path
        if !Path.isAbsolute(path), let current = getcwd(nil, 0) {
            path = String(cString: current) + "/" + path
            free(current)
        }
        return Path.withoutTrailingSlashes(path)
    }

    /// Sets the thread's name for `top -H` and /proc; Swift's Glibc module hides `pthread_setname_np`.
    private static func setName(_ name: String) {
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = write(descriptor, name, name.utf8.count)
        close(descriptor)
    }
}
