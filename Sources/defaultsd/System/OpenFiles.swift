import DefaultsCore
import Glibc
import Linux

/// The limit of open files (`RLIMIT_NOFILE`), and its division between connections and other files.
///
/// A connection is an open file. Connections must never exhaust the limit, or preferences could no longer be read.
enum OpenFiles {
    /// The minimum limit: the agent's permanent files, a few files that it reads and saves, and a few connections.
    private static let minimum = 32
    /// The reserve for files that the agent reads and saves.
    private static let reserve = 12

    /// Raises the limit as far as possible, and checks that it is high enough to start.
    ///
    /// The soft limit that programs start with is low because of `select`. In the agent, only libinotifytools uses
    /// `select`, and its descriptor is one of the first.
    ///
    /// - Throws: A `DefaultsError` if the limit is too low, or if there is no `/proc`, which lists the open files.
    static func prepare() throws(DefaultsError) {
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return }
        limits.rlim_cur = limits.rlim_max
        setrlimit(resource, &limits)
        guard access(directory, F_OK) == 0 else {
            throw DefaultsError(
                .agentUnavailable, errno: errno,
                "The agent can't list its open files in \(directory)",
                remedy: "Mount it with `mount -t proc proc /proc`.")
        }
        let (limit, inUse) = (limit, inUse(below: limit))
        // Both numbers include standard input, output and error.
        guard limit - inUse >= minimum - 3 else {
            throw DefaultsError(
                .agentUnavailable,
                "The agent needs \(minimum) open files, but its limit is \(limit), and \(inUse) are open already.",
                remedy: "Raise the limit of open files (ulimit -Hn, or LimitNOFILE= of a service).")
        }
    }

    /// The current limit, which may change while the agent runs.
    static var limit: Int {
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return 1_024 }
        return Int(clamping: limits.rlim_cur)
    }

    /// Returns the number of connections allowed in addition to some number of other open files.
    static func connections(beside others: Int) -> Int {
        let limit = limit
        return max(1, limit - others - max(reserve, limit / 4))
    }

    /// Returns the number of open files.
    static func inUse(below limit: Int) -> Int {
        let numbers = numbers
        return numbers.isEmpty ? limit : numbers.count { $0 < limit }
    }

    /// The descriptors of all open files; empty if they can't be listed.
    static var numbers: Set<Int32> {
        guard let listing = try? DirectoryListing(directory) else { return [] }
        var numbers: Set<Int32> = []
        while let entry = try? listing.next() {
            if let number = entry.name.flatMap({ Int32($0) }) { numbers.insert(number) }
        }
        return numbers.subtracting([listing.descriptor])
    }

    private static let directory = "/proc/self/fd"
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
