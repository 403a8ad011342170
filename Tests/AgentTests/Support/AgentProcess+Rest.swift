import Glibc
import ProgramSupport
import TestSupport

extension AgentProcess {
    /// How often its threads have been given, and have given back, a processor.
    func switches() throws -> Int {
        var sum = 0
        for thread in namesOfFiles(in: "/proc/\(pid)/task") {
            let status = String(decoding: try RawFile.read("/proc/\(pid)/task/\(thread)/status"), as: UTF8.self)
            for line in status.split(separator: "\n") where line.contains("ctxt_switches:") {
                sum += line.split(separator: "\t").last.flatMap { Int($0) } ?? 0
            }
        }
        return sum
    }

    /// Whether it comes to do nothing for a while: what wakes several times a second never does.
    func comesToRest(within seconds: Double = 30) throws -> Bool {
        try eventually(within: seconds) {
            let before = try switches()
            poll(nil, 0, 300)
            return try switches() == before
        }
    }
}
