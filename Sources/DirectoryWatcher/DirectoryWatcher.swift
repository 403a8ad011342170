internal import Glibc
internal import Linux
internal import Synchronization

/// A watcher of one directory and of named subdirectories directly below it.
///
/// It collects the names that need to be read again. Additional directories, the companions, are watched along with the
/// main one, but in a simpler way: see ``Configuration/companions``.
///
/// The watcher has no thread. Its owner calls ``read(checkingPaths:)`` when ``descriptor`` is readable, or when
/// ``Configuration/signal`` arrives, and when ``timeUntilNextRead`` has passed. Events are hints: they are returned as
/// ``DirtyNames``, so the amount of memory depends on the number of names, not events. Meanwhile the kernel collects
/// events; if they are read so late that its queue overflows, everything is reported as dirty.
///
/// ```swift
/// let watcher = try DirectoryWatcher(.init(directory: path, subdirectories: ["ByHost"]))
/// while true {
///     var inotify = pollfd(fd: watcher.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
///     poll(&inotify, 1, Int32(watcher.timeUntilNextRead / .milliseconds(1)) + 1)
///     let dirty = watcher.read()
///     // Read dirty.changed now and dirty.beingWritten in a while; if dirty.rescan isn't nil, read everything.
/// }
/// ```
///
/// The directory may be missing, appear, disappear, be replaced, be a link, or have another file system mounted over
/// it: the watcher renews its watch and marks a rescan. A check of the paths detects what inotify doesn't report, such
/// as a changed link or a mount above the parent. The targets of links in the directory are also watched, and so are
/// files that have several hard links or are mount points. Nothing reports a write through a mapping of a file.
///
/// A watcher is used by one thread at a time. libinotifytools has one instance per process, so only one watcher can
/// exist at a time. Nothing blocks, except that a path on a slow file system may take its time to be checked.
package final class DirectoryWatcher {
    /// Whether a watcher exists in this process.
    private static let isClaimed = Atomic<Bool>(false)

    let configuration: Configuration
    /// The directory's absolute path, without a trailing slash.
    let directory: String
    /// The companions' absolute paths, without trailing slashes.
    private let companions: [String]

    var inotify: Inotify?
    /// The watches and the names that are dirty; the logic without I/O.
    var state: WatcherState
    var mode = WatcherStatus.Mode.waiting(.missing)
    var companionModes: [String: WatcherStatus.Mode] = [:]
    private let mounts = MountTable()
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

    /// Starts watching.
    ///
    /// Once the initializer returns, the watches are set, or the directory has turned out to be missing or to require
    /// polling; ``status`` tells which. The first ``read(checkingPaths:)`` returns a rescan with the reason
    /// ``DirtyNames/RescanReason/started``.
    ///
    /// Start the watcher before the process opens many files: libinotifytools can't use a descriptor above 1023, so the
    /// watcher would have to poll.
    ///
    /// - Throws: ``WatcherError`` if a watcher already exists or the path is empty.
    package init(_ configuration: Configuration) throws(WatcherError) {
        guard !configuration.directory.isEmpty else {
            throw WatcherError(.noDirectory, "The path of the directory to watch is empty. Name a directory.")
        }
        guard Self.isClaimed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else {
            throw WatcherError(
                .alreadyWatching, "This process already has a directory watcher. Release that watcher first.")
        }
        self.configuration = configuration
        let directory = Self.absolutePath(configuration.directory)
        self.directory = directory
        companions = configuration.companions.map(Self.absolutePath).filter { $0 != directory }
        state = WatcherState(subdirectories: configuration.subdirectories, isRelevant: configuration.isRelevant)
        lastCheck = clock.now
        lastRearm = clock.now - configuration.rearmInterval
        state.markRescan(.started)
        check()
        checkArrivals()
    }

    /// Stops watching and releases all resources.
    ///
    /// It ends the watches first, so that no more events are queued.
    deinit {
        for watch in state.forgetWatches() { inotify?.unwatch(watch) }
        inotify = nil
        Self.isClaimed.store(false, ordering: .releasing)
    }

    // MARK: Reading

    /// The descriptor that is readable when events are queued; `nil` if inotify isn't in use.
    ///
    /// It may change with any ``read(checkingPaths:)``. It is only for waiting: the watcher alone reads from it.
    package var descriptor: Int32? { inotify?.descriptor }

    /// The time after which ``read(checkingPaths:)`` is due even if no event arrives; zero or less if it is due now.
    package var timeUntilNextRead: Duration { mayHoldEvents ? .zero : timeToCheck }

    /// Reads the queued events, and checks the paths if that is due.
    ///
    /// When polling, only a check of the paths detects changes.
    ///
    /// - Parameter checkingPaths: Whether to check the paths even if that isn't due yet.
    /// - Returns: Everything that has become dirty since the last call: inotify's reports before this call, and, if the
    ///   paths were checked, the changes that it doesn't report.
    package func read(checkingPaths: Bool = false) -> DirtyNames {
        readEvents()
        if checkingPaths || timeToCheck <= .zero { check() }
        checkArrivals()
        return state.dequeueDirtyNames()
    }

    /// Marks everything dirty, and makes the next check of the paths retry inotify if it was unavailable.
    package func requestRescan() {
        state.markRescan(.requested)
        // The limit that made inotify unavailable may have been raised.
        lastTry = nil
    }

    /// Makes the next check of the paths find the links and tied files anew, because changes have gone unreported.
    package func requestListing() {
        state.doubtAll()
        state.requestCheck()
    }

    /// The time until the next check of the paths.
    private var timeToCheck: Duration {
        if state.checkIsDue { return configuration.rearmInterval - (clock.now - lastRearm) }
        let interval = isPolling ? configuration.pollInterval : configuration.identityCheckInterval
        return interval - (clock.now - lastCheck)
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
        // A file may be mounted over another, which no event reports.
        if mounts.hasChanged() { state.doubtAll() }
        isPolling = false
        mode = pollIfNeeded(directory, in: reason.map { .polling($0) } ?? arm())
        for path in companions {
            companionModes[path] = pollIfNeeded(path, in: reason.map { .polling($0) } ?? arm(companion: path))
        }
        checkLinks()
        lastCheck = clock.now
        if state.rearms != rearms || state.checkIsDue { lastRearm = clock.now }
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
            if let signal = configuration.signal { inotify?.notify(with: signal) }
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
    private func pollIfNeeded(_ path: String, in mode: WatcherStatus.Mode) -> WatcherStatus.Mode {
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
                try OpenPath(path), subdirectories: configuration.subdirectories,
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
            state.recordChanges(of: new.changes(since: old).map { isCompanion ? path + "/" + $0 : $0 })
        } else {
            state.markRescan(.polled)
        }
        listings[path] = new
        return obstacle
    }

    /// The watcher's current status.
    package var status: WatcherStatus {
        WatcherStatus(
            mode: mode, companions: companionModes, watches: state.watchCount, overflows: state.overflows,
            rescans: state.rescans, rearms: state.rearms, undecodableNames: state.undecodableNames)
    }

    private static func absolutePath(_ path: String) -> String {
        var path = path
        if !Path.isAbsolute(path), let current = getcwd(nil, 0) {
            path = String(cString: current) + "/" + path
            free(current)
        }
        return Path.withoutTrailingSlashes(path)
    }
}
