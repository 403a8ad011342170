import Glibc

/// Seconds of the monotonic clock, which all processes share.
enum Stopwatch {
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// How long one of many times takes.
    static func each(of count: Int, _ body: (Int) throws -> Void) rethrows -> [Double] {
        let start = now
        for index in 0..<count { try body(index) }
        return [(now - start) / Double(count)]
    }

    /// How long each of many times takes.
    static func times(_ count: Int, _ body: (Int) throws -> Void) rethrows -> [Double] {
        try (0..<count).map { index in
            let start = now
            try body(index)
            return now - start
        }
    }

    /// How long one time takes on a core, when several threads do it at once, each many times.
    static func onThreads(_ threads: Int, eachOf count: Int, _ body: @escaping @Sendable (Int) -> Void) -> [Double] {
        let cores = min(threads, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let start = now
        concurrently(threads) { _ in for index in 0..<count { body(index) } }
        return [(now - start) * Double(cores) / Double(threads * count)]
    }
}
