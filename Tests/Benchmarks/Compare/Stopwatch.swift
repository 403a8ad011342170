import Glibc

/// The monotonic clock, in seconds, which is the same for all processes.
enum Stopwatch {
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Returns the average time of a call.
    static func each(of count: Int, _ body: (Int) throws -> Void) rethrows -> [Double] {
        let start = now
        for index in 0..<count { try body(index) }
        return [(now - start) / Double(count)]
    }

    /// Returns the time of each call.
    static func times(_ count: Int, _ body: (Int) throws -> Void) rethrows -> [Double] {
        try (0..<count).map { index in
            let start = now
            try body(index)
            return now - start
        }
    }

    /// Returns the average core time of a call when several threads each make many calls concurrently.
    static func onThreads(_ threads: Int, eachOf count: Int, _ body: @escaping @Sendable (Int) -> Void) -> [Double] {
        let cores = min(threads, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let start = now
        concurrently(threads) { _ in for index in 0..<count { body(index) } }
        return [(now - start) * Double(cores) / Double(threads * count)]
    }
}
