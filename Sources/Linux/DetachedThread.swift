import CLinux
import Glibc

/// A thread that the library starts, with all signals blocked to leave them to the program's own threads.
///
/// Unlike a Dispatch queue, such a thread also works in a forked child, where Dispatch relies on threads that exist
/// only in the parent.
package enum DetachedThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts a thread that runs a closure and then ends.
    ///
    /// - Parameter body: The closure, which is released on the new thread.
    /// - Returns: False if no thread can be started.
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
