import DefaultsCore
import Glibc

/// How many files the agent may have open (`RLIMIT_NOFILE`), and who gets which of them.
///
/// A connection is an open file. Connections alone must never take all there are: then no preferences could be read.
enum OpenFiles {
    /// What the agent has open as long as it runs, a few for files that it reads and publishes, and a few connections.
    private static let least = 32
    /// Those for files that it reads and publishes.
    private static let reserve = 12

    /// Raises the limit as far as the system lets it, and checks that it is enough to begin with.
    ///
    /// The lower limit that programs are started with is for the sake of `select`. Nothing here uses that but
    /// libinotifytools, whose descriptor is one of the first.
    static func prepare() throws(DefaultsError) {
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return }
        limits.rlim_cur = limits.rlim_max
        setrlimit(resource, &limits)
        let (limit, inUse) = (limit, inUse(below: limit))
        // Standard input, output and error are counted by both.
        guard limit - inUse >= least - 3 else {
            throw DefaultsError(
                .agentUnavailable,
                "The agent may have \(limit) files open, and \(inUse) are open already; it needs \(least): raise the limit "
                    + "of open files (ulimit -Hn, or LimitNOFILE= of a service).")
        }
    }

    /// How many the agent may have open now; someone may change it while it runs.
    static var limit: Int {
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return 1_024 }
        return Int(clamping: limits.rlim_cur)
    }

    /// How many connections may be open, when so many other files stay open.
    static func connections(beside others: Int) -> Int {
        let limit = limit
        return max(1, limit - others - max(reserve, limit / 4))
    }

    /// How many are open.
    static func inUse(below limit: Int) -> Int {
        guard let stream = opendir("/proc/self/fd") else { return limit }
        defer { closedir(stream) }
        var numbers: Set<Int32> = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Int32(name), number < limit { numbers.insert(number) }
        }
        return numbers.subtracting([dirfd(stream)]).count
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
