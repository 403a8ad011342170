internal import Glibc
internal import Synchronization

/// Watches one directory, and named subdirectories directly below it, and gathers which names are to be looked at.
///
/// Further directories, the companions, are watched along with it, in a plainer way. Of any of them no more is asked than
/// that it can be read and searched.
///
/// One thread of its own owns libinotifytools, which has one instance a process: so has this type. Events are hints;
/// they gather as ``DirtyNames`` until ``take()``, so memory grows with the number of names and not with that of
/// events, and a consumer that comes late misses nothing.
///
/// ```swift
/// let watcher = try DirectoryWatcher(.init(directory: path, subdirectories: ["ByHost"]))
/// for await _ in watcher.ticks {
///     let dirty = watcher.take()
///     // look at dirty.changed now, at dirty.beingWritten in a while, at everything if dirty.rescan isn't nil
/// }
/// ```
///
/// The directory may be missing, come, go, be replaced, be a link, or have another file system mounted over it: its
/// watch is set again, and a rescan marked. Where inotify tells nothing of it (a change of a link, or a mount, above
/// the parent), the identity check does, and so does ``drain()``. What links in it lead to is watched as well. Not seen are writes
/// through another hard link.
///
/// All members may be used from any thread.
package final class DirectoryWatcher: Sendable {
    /// Whether a watcher lives in this process.
    private static let isClaimed = Atomic<Bool>(false)

    private let channel: WatchChannel

    /// The thread, until it has ended.
    ///
    /// Held while waiting for its end, so that every caller of ``stop()`` returns after it; the thread never takes this
    /// lock. Before the channel's lock in the order of locks.
    private let thread: Mutex<pthread_t?>

    /// Starts watching.
    ///
    /// It returns when the watches are set, or when it is known that the directory is missing or must be polled;
    /// ``status`` says which. The first ``take()`` holds a rescan, ``DirtyNames/RescanReason/started``.
    ///
    /// Start the watcher before the process opens many files: with a descriptor above 1023 libinotifytools can't work,
    /// and the watcher polls.
    ///
    /// - Throws: ``WatcherError`` if a watcher lives already, the path is empty, or the kernel gives no event
    ///   descriptor or thread.
    package init(_ configuration: Configuration) throws(WatcherError) {
        guard !configuration.directory.isEmpty else {
            throw WatcherError(.noDirectory, "The path of the directory to watch is empty: name a directory.")
        }
        guard Self.isClaimed.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else {
            throw WatcherError(
                .alreadyWatching, "A directory is watched in this process already: stop that watcher first.")
        }
        do {
            let channel = try WatchChannel()
            thread = Mutex(try WatchThread.start(configuration, channel: channel))
            self.channel = channel
        } catch {
            Self.isClaimed.store(false, ordering: .releasing)
            throw error
        }
        channel.waitUntilReady()
    }

    deinit { stop() }

    /// Ticks when there is something to take.
    ///
    /// One tick stands for any number of changes; it finishes at ``stop()``.
    ///
    /// There is one stream, for one consumer; when its task is cancelled, the stream ends for good, as any `AsyncStream`.
    package var ticks: AsyncStream<Void> { channel.ticks }

    /// Takes what has gathered, in one step.
    ///
    /// Never blocks.
    package func take() -> DirtyNames { channel.takeDirty() }

    /// How the watcher is doing.
    package var status: WatcherStatus { channel.status }

    /// Waits until everything that happened before the call can be taken.
    ///
    /// Every event that the kernel had queued before the call has then been put into the dirty names, and the paths
    /// have been looked at; when polling, a comparison of listings that began after the call has ended. It returns at
    /// once after ``stop()``, and doesn't heed cancellation: it takes microseconds.
    nonisolated(nonsending) package func drain() async {
        await withCheckedContinuation { continuation in drain { continuation.resume() } }
    }

    /// The same, with a call on the watcher's thread at the end; after ``stop()`` on the caller's.
    ///
    /// What is called must not block, nor be the last that keeps the watcher: its end waits for its thread.
    package func drain(then: @escaping @Sendable () -> Void) { channel.requestDrain(then) }

    /// Marks everything dirty, and has inotify tried again where it could not be had.
    package func requestRescan() { channel.requestRescan() }

    /// Stops watching: returns when the thread has ended and all its resources are given back.
    ///
    /// What has gathered can still be taken. Calling it again does nothing. It must not be called from
    /// ``Configuration/isRelevant``.
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
