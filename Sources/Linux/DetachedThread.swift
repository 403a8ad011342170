import CLinux
import Glibc

/// A thread that the library starts, with all signals blocked to leave them to the program's own threads.
///
/// Unlike a Dispatch queue, such a thread also works in a forked child, where Dispatch relies on threads that exist
/// only in the parent.
package enum DetachedThread {
    /// Starts a thread that runs a closure and then ends.
    ///
    /// - Parameter body: The closure, which is released on the new thread.
    /// - Returns: False if no thread can be started.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = ThreadBody.start(body) else { return false }
        pthread_detach(thread)
        return true
    }
}

/// A thread like a `DetachedThread`, whose end its starter waits for.
struct JoinableThread {
    private let thread: pthread_t

    /// Starts a thread that runs a closure and then ends; fails if no thread can be started.
    init?(_ body: @escaping @Sendable () -> Void) {
        guard let thread = ThreadBody.start(body) else { return nil }
        self.thread = thread
    }

    /// Waits until the thread has ended; call this exactly once.
    func join() { pthread_join(thread, nil) }
}

private final class ThreadBody: Sendable {
    private let run: @Sendable () -> Void

    private init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }

    static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
        let parameter = Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        guard linux_start_thread(&thread, { ThreadBody.main($0) }, parameter.toOpaque()) == 0 else {
            parameter.release()
            return nil
        }
        return thread
    }

    private static func main(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let pointer { Unmanaged<ThreadBody>.fromOpaque(pointer).takeRetainedValue().run() }
        return nil
    }
}
