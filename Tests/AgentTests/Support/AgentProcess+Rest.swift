import Glibc
import ProgramSupport
import TestSupport

extension AgentProcess {
    /// How much it has done: how often its threads have been given a processor, and for how many ticks of the clock.
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
        // After the program's name in parentheses; the 14th field and the 15th of all are its times.
        let fields = try text("stat").split(separator: ")").last?.split(separator: " ") ?? []
        return [switches] + fields.dropFirst(11).prefix(2).compactMap { Int($0) }
    }

    /// Whether it comes to do nothing for a while: what wakes several times a second never does, nor what doesn't sleep.
    func comesToRest(within seconds: Double = 30) throws -> Bool {
        try eventually(within: seconds) {
            let before = try activity()
            poll(nil, 0, 300)
            return try activity() == before
        }
    }
}
