internal import Glibc
internal import Linux
internal import Synchronization

/// A watcher of one directory and of named subdirectories directly below it.
///
/// It collects the names that need to be read again. Further directories, the companions, are watched along with the
/// main one, but more simply: they only have to be readable and searchable.
///
/// A dedicated thread owns libinotifytools. The library has one instance per process, so only one watcher can exist at
/// a time. Events are hints. They accumulate as ``DirtyNames`` until ``dequeue()``, so memory grows with the number of
/// names and not with the number of events, and a late consumer misses nothing.
///
/// ```swift
/// let watcher = try DirectoryWatcher(.init(directory: path, subdirectories: ["ByHost"]))
/// for await _ in watcher.ticks {
///     let dirty = watcher.dequeue()
///     // Read dirty.changed now and dirty.beingWritten in a while; if dirty.rescan isn't nil, read everything.
/// }
/// ```
///
/// The directory may be missing, appear, disappear, be replaced, be a link, or have another file system mounted over
/// it: the watcher sets its watch again and marks a rescan. The identity check and ``drain()`` find what inotify
/// doesn't report, such as a change to a link or a mount above the parent. The targets of links in the directory are
/// watched as well. Writes through another hard link go unnoticed.
///
/// All members may be used from any thread.
package final class DirectoryWatcher: Sendable {
    /// Whether a watcher exists in this process.
    private static let isClaimed = Atomic<Bool>(false)

    private let channel: WatchChannel

    /// The thread; `nil` once it has ended.
    ///
    /// The lock is held while waiting for the thread's end, so that every caller of ``stop()`` returns after it. The
    /// thread never acquires this lock. In the lock order, it comes before the channel's lock.
    private let thread: ForkSafeMutex<pthread_t?>

    /// Starts watching.
    ///
    /// The initializer returns when the watches are set, or when the directory has turned out to be missing or to
    /// require polling; ``status`` says which. The first ``dequeue()`` returns a rescan with the reason
    /// ``DirtyNames/RescanReason/started``.
    ///
    /// Start the watcher before the process opens many files: libinotifytools can't use a descriptor above 1023, and
    /// the watcher then polls.
    ///
    /// - Throws: ``WatcherError`` if a watcher already exists, the path is empty, or the kernel refuses an event
    ///   descriptor or a thread.
    package init(_ configuration: Configuration) throws(WatcherError) {
        guard !configuration.directory.isEmpty else {
            throw WatcherError(.noDirectory, "The path of the directory to watch is empty. Name a directory.")
        }
        guard Self.isClaimed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else {
            throw WatcherError(
                .alreadyWatching, "This process already has a directory watcher. Stop that watcher first.")
        }
        do {
            let channel = try WatchChannel()
            thread = ForkSafeMutex(try WatchThread.start(configuration, channel: channel))
            self.channel = channel
        } catch {
            Self.isClaimed.store(false, ordering: .releasing)
            throw error
        }
        channel.waitUntilReady()
    }

    deinit { stop() }

    /// A stream that yields when there is something to dequeue.
    ///
    /// One tick stands for any number of changes. The stream finishes at ``stop()``. It supports a single consumer;
    /// like any `AsyncStream`, it ends for good when the consumer's task is canceled.
    package var ticks: AsyncStream<Void> { channel.ticks }

    /// Returns everything that has accumulated, and clears it, in one step.
    ///
    /// Never blocks.
    package func dequeue() -> DirtyNames { channel.dequeueDirtyNames() }

    /// The watcher's current status.
    package var status: WatcherStatus { channel.status }

    /// Waits until everything that happened before the call can be dequeued.
    ///
    /// By then the watcher has read every event that the kernel had queued before the call, and has checked the paths.
    /// When polling, it has finished a comparison of listings that began after the call. After ``stop()`` the method
    /// returns immediately. It ignores cancellation: it waits only for the watcher thread's next pass.
    nonisolated(nonsending) package func drain() async {
        await withCheckedContinuation { continuation in drain { continuation.resume() } }
    }

    /// Calls a function on the watcher's thread once everything that happened before can be dequeued.
    ///
    /// After ``stop()`` the function runs immediately, on the caller's thread. It must not block, and must not hold the
    /// last reference to the watcher: releasing the watcher waits for its thread.
    package func drain(then: @escaping @Sendable () -> Void) { channel.requestDrain(then) }

    /// Marks everything dirty, and retries inotify if it was unavailable.
    package func requestRescan() { channel.requestRescan() }

    /// Stops watching, and returns when the thread has ended and all its resources are released.
    ///
    /// Accumulated names can still be dequeued. Further calls do nothing. It must not be called on the watcher's
    /// thread: from ``Configuration/isRelevant``, ``Configuration/onCheck`` or a function given to `drain`.
    package func stop() {
        thread.withLock { thread in
            guard let running = thread else { return }
            channel.requestStop()
            pthread_join(running, nil)
            thread = nil
            channel.close()
            Self.isClaimed.store(false, ordering: .releasing)
        }
    }
}
