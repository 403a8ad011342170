import Glibc
import ProgramSupport
import TestSupport

extension AgentProcess {
    /// Returns a measure of the agent's work so far: the context switches of its threads, and its processor time.
    private func activity() throws -> [Int] {
        func text(_ name: String) throws -> Substring {
            Substring(decoding: try RawFile.read("/proc/\(pid)/\(name)"), as: UTF8.self)
        }
        var switches = 0
        for thread in namesOfFiles(in: "/proc/\(pid)/task") {
            for line in try text("task/\(thread)/status").split(separator: "\n") where line.contains("ctxt_switches:") {
                switches += line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
            }
        }
        // The fields after the program's name in parentheses. Fields 14 and 15 of the line are the processor times.
        let fields = try text("stat").split(separator: ")").last?.split(separator: " ") ?? []
        return [switches] + fields.dropFirst(11).prefix(2).compactMap { Int($0) }
    }

    /// Returns whether the agent becomes idle for 0.3 s.
    ///
    /// An agent that wakes several times a second, or that never sleeps, doesn't.
    func comesToRest(within seconds: Double = 30) throws -> Bool {
        try eventually(within: seconds) {
            let before = try activity()
            poll(nil, 0, 300)
            return try activity() == before
        }
    }
}
