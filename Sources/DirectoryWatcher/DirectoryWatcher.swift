internal import Glibc
internal import Linux
internal import Synchronization

/// A watcher of one directory and of named subdirectories directly below it.
///
/// It collects the names that need to be read again. Additional directories, the companions, are watched along with the
/// main one, but in a simpler way: see ``Configuration/companions``.
///
/// A dedicated thread owns libinotifytools. The library has one instance per process, so only one watcher can exist at
/// a time. Events are hints. They accumulate as ``DirtyNames`` until ``dequeue()``, so memory use depends on the number
/// of names, not events, and a slow consumer misses nothing.
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
/// it: the watcher renews its watch and marks a rescan. The identity check and ``drain()`` detect what inotify doesn't
/// report, such as a changed link or a mount above the parent. The targets of links in the directory are also watched.
/// Writes through another hard link go unnoticed.
///
/// All members may be used from any thread.
package final class DirectoryWatcher: Sendable {
    /// Whether a watcher exists in this process.
    private static let isClaimed = Atomic<Bool>(false)

    private let channel: WatchChannel

    /// The thread; `nil` once it has ended.
    ///
    /// The lock is held while waiting for the thread to end, so that no caller of ``stop()`` returns earlier. The
    /// thread never acquires this lock. In the lock order, this lock comes before the channel's.
    private let thread: ForkSafeMutex<pthread_t?>

    /// Starts watching.
    ///
    /// The initializer returns once the watches are set, or the directory turns out to be missing or to require
    /// polling; ``status`` tells which. The first ``dequeue()`` returns a rescan with the reason
    /// ``DirtyNames/RescanReason/started``.
    ///
    /// Start the watcher before the process opens many files: libinotifytools can't use a descriptor above 1023, so the
    /// watcher would have to poll.
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

    /// Atomically returns and clears everything that has accumulated.
    ///
    /// Never blocks.
    package func dequeue() -> DirtyNames { channel.dequeueDirtyNames() }

    /// The watcher's current status.
    package var status: WatcherStatus { channel.status }

    /// Waits until everything that happened before the call is ready to be dequeued.
    ///
    /// The watcher reads every event that the kernel queued before the call, and checks the paths. When polling, it
    /// compares listings made after the call. After ``stop()``, the method returns immediately. It ignores
    /// cancellation, since it waits only for the watcher thread's next pass.
    nonisolated(nonsending) package func drain() async {
        await withCheckedContinuation { continuation in drain { continuation.resume() } }
    }

    /// Calls a function on the watcher's thread once everything that happened before this call is ready to be dequeued.
    ///
    /// After ``stop()`` the function runs immediately, on the caller's thread. It must not block, and must not hold the
    /// last reference to the watcher: releasing the watcher waits for its thread.
    package func drain(then: @escaping @Sendable () -> Void) { channel.requestDrain(then) }

    /// Marks everything dirty, and retries inotify if it was unavailable.
    package func requestRescan() { channel.requestRescan() }

    /// Stops watching, and returns once the thread has ended and released all its resources.
    ///
    /// Accumulated names can still be dequeued. Further calls do nothing. This method must not be called on the
    /// watcher's thread, that is, from ``Configuration/isRelevant``, ``Configuration/onCheck`` or a function passed to
    /// `drain`.
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
