import DefaultsClient
import DefaultsKit
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// The kernel's inotify limits, lowered in the agent's own user namespace.
@Suite("Exhausted inotify limits")
struct InotifyLimitTests {
    @Test(
        "An agent without inotify polls, reports that, sees all changes, and tries inotify again on SIGHUP",
        .enabled(if: canLower), arguments: ["max_inotify_watches", "max_inotify_instances"])
    func polling(limit: String) throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place, launcher: Self.launcher(lowering: limit, to: 0))
            defer { agent.kill() }
            #expect(try mode(agent).hasPrefix("polling: no inotify"))
            let follower = try agent.follow()
            func awaitChange(_ value: String) throws {
                try RawFile.replace(place.path("a.b"), with: Array("{k=\(value);}".utf8))
                while true {
                    guard let event = try follower.connection.nextEvent(within: 30_000) else {
                        Issue.record("No event reported the value \(value).")
                        return
                    }
                    if Follower.text(event).contains(">\(value)") { return }
                }
            }
            try awaitChange("polled")
            try setLimit(limit, to: 100, of: agent)
            agent.signal(SIGHUP)
            #expect(try eventually { try mode(agent) == "inotify" })
            try awaitChange("watched")

            // The directory that replaces this one gets no watch.
            try setLimit("max_inotify_watches", to: 0, of: agent)
            rename(place.preferences, place.preferences + ".old")
            try RawFile.makeDirectory(place.preferences)
            #expect(try eventually { try mode(agent).hasPrefix("polling: no inotify watch") })
            try awaitChange("again")

            let log = agent.complaints()
            #expect(log.contains("ready: watching \(place.preferences) by polling: no inotify"), "\(log)")
            #expect(log.contains("\(place.preferences) is now watched by inotify"), "\(log)")
            #expect(log.contains("\(place.preferences) is now watched by polling: no inotify watch"), "\(log)")
            #expect(log.contains("raise fs.inotify.max_user_watches"), "\(log)")
        }
    }

    /// Whether users may create namespaces here.
    static let canLower =
        (try? Programs.run(
            launcher(lowering: "max_inotify_watches", to: 9)[0],
            Array(launcher(lowering: "max_inotify_watches", to: 9)[1...]) + ["true"]
        ).status) == 0

    /// Returns the command prefix that runs a program with a limit of its own.
    static func launcher(lowering limit: String, to value: Int) -> [String] {
        ["/usr/bin/unshare", "-Ur", "sh", "-c", "echo \(value) >/proc/sys/user/\(limit) && exec \"$@\"", "sh"]
    }

    private func setLimit(_ limit: String, to value: Int, of agent: AgentProcess) throws {
        let outcome = try Programs.run(
            "/usr/bin/nsenter",
            [
                "-t", "\(agent.pid)", "-U", "--preserve-credentials", "sh", "-c",
                "echo \(value) >/proc/sys/user/\(limit)",
            ])
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private func mode(_ agent: AgentProcess) throws -> String {
        guard case .dictionary(let watch)? = try agent.status()["watch"], case .string(let mode)? = watch["mode"] else {
            return ""
        }
        return mode
    }
}
