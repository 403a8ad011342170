import Foundation
import ProgramSupport

/// A fault that strace puts in the way of a system call of a program.
struct Injection: CustomStringConvertible {
    /// The call's name, and which of the program's calls of that name it is, from 1.
    var call: String
    var number: Int
    /// What happens, as strace has it: "signal=KILL", "error=ENOSPC".
    var fault: String

    var description: String { "\(call) \(number): \(fault)" }

    private static let strace = "/usr/bin/strace"

    /// Whether programs may be traced here.
    static let isPossible = (try? Programs.run(strace, ["-o", "/dev/null", "true"]).status) == 0

    /// The system calls that a program makes from the first one on that names a path.
    static func calls(
        of program: String, _ arguments: [String], from path: String, environment: [String: String]
    ) throws -> [(call: String, number: Int)] {
        let trace = path + "/../trace"
        try Programs.run(strace, ["-f", "-o", trace, program] + arguments, environment: environment)
        var counts: [String: Int] = [:]
        var calls: [(String, Int)] = []
        var hasBegun = false
        for line in try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n") {
            guard let match = line.firstMatch(of: /^\d+ +(\w+)\(/) else { continue }
            let call = String(match.1)
            counts[call, default: 0] += 1
            hasBegun = hasBegun || line.contains(path)
            if hasBegun { calls.append((call, counts[call] ?? 0)) }
        }
        return calls
    }

    /// Runs a program with the fault.
    func run(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) throws -> Programs.Outcome {
        let injection = "inject=\(call):\(fault):when=\(number)"
        return try Programs.run(
            Self.strace, ["-f", "-o", "/dev/null", "-e", injection, program] + arguments, environment: environment)
    }
}
