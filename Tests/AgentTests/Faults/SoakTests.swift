import Glibc
import ProgramSupport
import TestSupport
import Testing

/// The soak test as a separate process.
@Suite("Soak tests")
struct SoakTests {
    /// Returns the agents that a program has started.
    private static func agents(of pid: pid_t) -> [String] {
        let children = (try? RawFile.read("/proc/\(pid)/task/\(pid)/children")) ?? []
        return String(decoding: children, as: UTF8.self).split(separator: " ").map(String.init).filter {
            (try? RawFile.read("/proc/\($0)/comm")) == Array("defaultsd\n".utf8)
        }
    }

    @Test("A soak test that is killed leaves no agent behind")
    func killed() throws {
        try withTemporaryDirectory { root in
            let soak = try RunningProgram(
                "\(Programs.directory)/defaults-bench", ["soak", "--only", "rename"], environment: ["TMPDIR": root])
            var agents: [String] = []
            let hasBegun = eventually(within: 60) {
                agents = Self.agents(of: soak.pid)
                return !agents.isEmpty
            }
            #expect(hasBegun)
            soak.signal(SIGKILL)
            // A process that has exited but hasn't been reaped has no executable.
            let hasEnded = eventually(within: 60) { !agents.contains { access("/proc/\($0)/exe", F_OK) == 0 } }
            #expect(hasEnded)
            for agent in agents { if let pid = pid_t(agent), !hasEnded { kill(pid, SIGKILL) } }
        }
    }
}
