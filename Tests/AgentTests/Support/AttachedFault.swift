import Foundation
import Glibc
import ProgramSupport
import TestSupport

/// An strace that is attached to a running program and injects a fault into system calls, or records them.
///
/// It affects only calls that name certain paths or use files open at them. The program's other work, such as waking
/// its own threads, goes on.
final class AttachedFault {
    private let strace: RunningProgram
    /// The file in which the calls are recorded.
    private let trace: String
    /// The temporary directory of `trace`, unless a test named the file.
    private let scratch: String?

    /// Attaches to a program, so that each of its threads is traced on return.
    ///
    /// - Parameters:
    ///   - pid: The program's pid.
    ///   - paths: The paths whose calls are affected.
    ///   - injection: The fault in strace's syntax, such as "fsync:error=EIO", or `nil` to record all calls.
    ///   - output: The file in which the calls are recorded, for a test that reads it.
    /// - Throws: An error if strace can't be run or doesn't attach.
    init(_ pid: pid_t, at paths: [String], _ injection: String?, output: String? = nil) throws {
        scratch = output == nil ? try makeTemporaryDirectory() : nil
        trace = output ?? "\(scratch ?? "")/trace"
        let command = Self.command(at: paths, injection, output: trace) + ["-p", "\(pid)"]
        strace = try RunningProgram(command[0], Array(command[1...]))
        let isAttached = eventually {
            let tasks = namesOfFiles(in: "/proc/\(pid)/task")
            return !tasks.isEmpty && tasks.allSatisfy { Self.tracer(of: "/proc/\(pid)/task/\($0)") == strace.pid }
        }
        if !isAttached { throw AgentProcess.AgentFailure(description: "strace did not attach: \(strace.complaints())") }
    }

    /// Returns the command prefix that runs a program with the fault from its start, under strace's control.
    static func launcher(at paths: [String], _ injection: String?, output: String = "/dev/null") -> [String] {
        // The program keeps the pid.
        command(at: paths, injection, output: output) + ["-D"]
    }

    private static func command(at paths: [String], _ injection: String?, output: String) -> [String] {
        ["/usr/bin/strace", "-f", "-y", "-o", output] + paths.flatMap { ["-P", $0] }
            + (injection.map { ["-e", "inject=\($0)"] } ?? [])
    }

    deinit {
        if let scratch { removeTree(scratch) }
    }

    /// Whether the program has reached an affected call, which is certain only after `end`.
    var tookEffect: Bool {
        (try? RawFile.read(trace)).map { Injection.tookEffect(in: String(decoding: $0, as: UTF8.self)) } ?? false
    }

    /// Detaches from the program, whose calls succeed from now on.
    ///
    /// strace detaches from a dead program by itself, and would hang if it were interrupted while it does.
    func end(afterDeath mayBeDead: Bool = false) {
        if mayBeDead, strace.status(within: 1) != nil { return }
        strace.signal(SIGINT)
        if strace.status(within: 5) != nil { return }
        // strace waits for a process that can't be reaped before one of its threads. Only killing strace ends that.
        strace.signal(SIGKILL)
        _ = strace.status()
    }

    private static func tracer(of task: String) -> pid_t? {
        let status = (try? RawFile.read("\(task)/status")).map { String(decoding: $0, as: UTF8.self) }
        let line = status?.split(separator: "\n").first { $0.hasPrefix("TracerPid:") }
        return line?.split(separator: "\t").last.flatMap { pid_t($0) }
    }
}
