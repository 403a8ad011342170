import Glibc
import Linux

/// The kernel's limits for inotify, and the result of an attempt to set a watch.
struct InotifyExamination: Equatable {
    /// The limits by the names of their files in `/proc/sys/fs/inotify`.
    var limits: [String: Int] = [:]
    /// The error number of an attempt to watch a directory; `nil` if it succeeded.
    var obstacle: Int32?

    private static let names = ["max_user_watches", "max_user_instances", "max_queued_events"]

    init(limits: [String: Int], obstacle: Int32?) { (self.limits, self.obstacle) = (limits, obstacle) }

    /// Reads the limits, and briefly watches a directory.
    init(watching path: String?) {
        for name in Self.names {
            let bytes = try? FileDescriptor(opening: "/proc/sys/fs/inotify/\(name)", O_RDONLY).read(upTo: 64)
            limits[name] = bytes.flatMap { Int(String(decoding: $0.prefix { $0 > 0x20 }, as: UTF8.self)) }
        }
        guard let path else { return }
        do throws(SystemCall.Failure) {
            let instance = FileDescriptor(owning: try SystemCall.run { inotify_init1(Int32(O_CLOEXEC)) })
            try SystemCall.run { inotify_add_watch(instance.number, path, UInt32(IN_CREATE)) }
        } catch {
            obstacle = error.number
        }
    }

    /// The limits below which other programs can easily exhaust them; Linux's defaults are far higher.
    private static let least = ["max_user_watches": 1_024, "max_user_instances": 16, "max_queued_events": 1_024]

    /// Returns the limits that keep an agent from using inotify; an exhausted one is only a note if `agentWatches`,
    /// because the agent that is running already has its watches.
    @FindingList
    func findings(agentWatches: Bool) -> [Finding] {
        if let obstacle, [EMFILE, ENFILE, ENOSPC, ENOMEM, ENOSYS].contains(obstacle) {
            let isWatch = obstacle == ENOSPC
            let (name, limit) = isWatch ? ("max_user_watches", 524_288) : ("max_user_instances", 1_024)
            Finding(
                agentWatches ? .note : .warning, id: "inotify-exhausted",
                message: "No inotify \(isWatch ? "watch" : "instance") is available: \(SystemCall.message(obstacle)). "
                    + "An agent that starts now will poll.",
                remedy: "Raise the limit: run `sudo sysctl fs.inotify.\(name)=\(limit)`.",
                path: "/proc/sys/fs/inotify/\(name)")
        }
        for name in Self.names {
            if let limit = limits[name], let least = Self.least[name], limit < least {
                Finding(
                    .note, id: "inotify-limit-low", message: "The limit fs.inotify.\(name) is only \(limit).",
                    remedy: "Raise it: run `sudo sysctl fs.inotify.\(name)=\(least)`.",
                    path: "/proc/sys/fs/inotify/\(name)")
            }
        }
    }

    /// The limits as a JSON object.
    var json: String {
        func number(_ name: String) -> String { limits[name].map { "\($0)" } ?? "null" }
        return JSONText.object([
            ("maxUserWatches", number("max_user_watches")), ("maxUserInstances", number("max_user_instances")),
            ("maxQueuedEvents", number("max_queued_events")),
        ])
    }
}
