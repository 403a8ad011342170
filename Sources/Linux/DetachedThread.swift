import CLinux
import Glibc

/// A thread of the library's own, with all signals blocked: they are for the program's threads.
///
/// Unlike a Dispatch queue it also works in a forked child, where Dispatch counts on threads that only the parent has.
package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts a thread that runs a body, and ends when the body returns.
    ///
    /// - Parameter body: The body, which is released on the new thread.
    /// - Returns: False if the system can't start another thread.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let parameter = Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        guard linux_start_thread(&thread, { DetachedThread.main($0) }, parameter.toOpaque()) == 0 else {
            parameter.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private static func main(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let pointer { Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run() }
        return nil
    }
}
