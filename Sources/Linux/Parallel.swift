import Glibc

/// Work that is divided among all processor cores.
///
/// The threads end with the work, so that no thread and none of its memory is left waiting for the next time.
package enum Parallel {
    /// Calls a closure with each number below a count, on several threads at once.
    ///
    /// The calling thread takes part, and does everything if no other thread can be started. It must not be in a gate
    /// that a fork closes, since the other threads couldn't finish then.
    ///
    /// - Parameters:
    ///   - count: The number of calls.
    ///   - body: The closure, whose calls are in no particular order. Each should take a millisecond or more.
    package static func perform(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let next = ForkSafeMutex(0)
        let run: @Sendable () -> Void = {
            while true {
                let number = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                if number >= count { return }
                body(number)
            }
        }
        let helpers = (0..<max(0, min(cores, count) - 1)).compactMap { _ in JoinableThread(run) }
        run()
        for helper in helpers { helper.join() }
    }

    /// The number of cores, up to the number beyond which threads mostly wait for the kernel's locks.
    private static var cores: Int { min(8, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
