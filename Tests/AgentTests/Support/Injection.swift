import Foundation
import ProgramSupport
import TestSupport

/// A fault that strace injects into a system call of a program.
struct Injection: CustomStringConvertible {
    /// The call's name.
    var call: String
    /// The call's number among a thread's calls of that name, from 1.
    var number: Int
    /// The fault in strace's syntax, such as "signal=KILL" or "error=ENOSPC".
    var fault: String

    var description: String { "\(call) \(number): \(fault)" }

    private static let strace = "/usr/bin/strace"

    /// Whether programs may be traced here.
    static let isPossible = (try? Programs.run(strace, ["-o", "/dev/null", "true"]).status) == 0

    /// One run of a program with a fault.
    struct Run {
        var outcome: Programs.Outcome
        /// Whether the program reached the call.
        ///
        /// The calls were counted in another run. A run that waits less, for example, makes fewer of them and may not
        /// reach the fault.
        var tookEffect: Bool
    }

    /// Returns the system calls that a program makes, from the first one that names a path, each once.
    ///
    /// Calls are numbered thread by thread, as strace counts them for a fault.
    static func calls(
        of program: String, _ arguments: [String], from path: String, environment: [String: String]
    ) throws -> [(call: String, number: Int)] {
        let trace = path + "/../trace"
        try Programs.run(strace, ["-f", "-o", trace, program] + arguments, environment: environment)
        var hasBegun = false
        var calls: [(call: String, number: Int)] = []
        var seen: Set<String> = []
        for call in Self.calls(in: try String(contentsOfFile: trace, encoding: .utf8)) {
            hasBegun = hasBegun || call.line.contains(path)
            guard hasBegun, seen.insert("\(call.name) \(call.number)").inserted else { continue }
            calls.append((call.name, call.number))
        }
        return calls
    }

    /// Returns the calls that strace has recorded, numbered thread by thread.
    static func calls(in trace: String) -> [(name: String, number: Int, line: Substring)] {
        var counts: [String: Int] = [:]
        return trace.split(separator: "\n").compactMap { line in
            guard let match = line.firstMatch(of: /^(\d+) +(\w+)\(/) else { return nil }
            counts["\(match.1) \(match.2)", default: 0] += 1
            return (String(match.2), counts["\(match.1) \(match.2)"] ?? 0, line)
        }
    }

    /// Returns whether strace has recorded that it injected an error or killed the program.
    static func tookEffect(in trace: String) -> Bool {
        trace.contains("(INJECTED)") || trace.contains("+++ killed by SIGKILL +++")
    }

    /// Runs a program with the fault.
    func run(_ program: String, _ arguments: [String], environment: [String: String]) throws -> Run {
        try withTemporaryDirectory { directory in
            let trace = directory + "/trace"
            let outcome = try Programs.run(
                Self.strace,
                ["-f", "-o", trace, "-e", "trace=\(call)", "-e", "inject=\(call):\(fault):when=\(number)", program]
                    + arguments,
                environment: environment)
            return Run(
                outcome: outcome, tookEffect: Self.tookEffect(in: try String(contentsOfFile: trace, encoding: .utf8)))
        }
    }
}
