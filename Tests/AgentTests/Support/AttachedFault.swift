import Foundation
import Glibc
import ProgramSupport
import TestSupport

/// strace on a program that runs: it puts a fault in the way of system calls, or notes them, until it is let go.
///
/// Only calls that name certain paths, or files that are open under them, are meant; so what the program does besides,
/// waking its own threads say, goes on.
final class AttachedFault {
    private let strace: RunningProgram
    /// Where the calls are noted.
    private let trace: String
    /// The directory of `trace`, unless a test has named it.
    private let scratch: String?

    /// Attaches to a program; when this returns, each of its threads is traced.
    ///
    /// - Parameters:
    ///   - pid: the program's.
    ///   - paths: whose calls are meant.
    ///   - injection: what happens to which calls, as strace has it: "fsync:error=EIO". `nil` to note them all.
    ///   - output: where the calls are noted, for a test that reads them.
    /// - Throws: when strace can't be run, or doesn't attach.
    init(_ pid: pid_t, at paths: [String], _ injection: String?, output: String? = nil) throws {
        scratch = output == nil ? try makeTemporaryDirectory() : nil
        trace = output ?? "\(scratch ?? "")/trace"
        var arguments = ["-f", "-y", "-o", trace]
        for path in paths { arguments += ["-P", path] }
        if let injection { arguments += ["-e", "inject=\(injection)"] }
        strace = try RunningProgram("/usr/bin/strace", arguments + ["-p", "\(pid)"])
        let isAttached = eventually {
            let tasks = namesOfFiles(in: "/proc/\(pid)/task")
            return !tasks.isEmpty && tasks.allSatisfy { Self.tracer(of: "/proc/\(pid)/task/\($0)") == strace.pid }
        }
        if !isAttached { throw AgentProcess.AgentFailure(description: "strace doesn't attach: \(strace.complaints())") }
    }

    deinit {
        if let scratch { removeTree(scratch) }
    }

    /// Whether the program has come to a call that was meant; known for certain once it has been let go.
    var tookEffect: Bool {
        (try? RawFile.read(trace)).map { Injection.tookEffect(in: String(decoding: $0, as: UTF8.self)) } ?? false
    }

    /// Lets the program go; what it does from now on succeeds.
    ///
    /// Of a program that has died strace takes leave by itself, and would hang if it were asked to meanwhile.
    func end(afterDeath mayBeDead: Bool = false) {
        if mayBeDead, strace.status(within: 1) != nil { return }
        strace.signal(SIGINT)
        if strace.status(within: 5) != nil { return }
        // It waits for a process that can't be had before one of its threads is: strace alone ends that.
        strace.signal(SIGKILL)
        _ = strace.status()
    }

    private static func tracer(of task: String) -> pid_t? {
        let status = (try? RawFile.read("\(task)/status")).map { String(decoding: $0, as: UTF8.self) }
        let line = status?.split(separator: "\n").first { $0.hasPrefix("TracerPid:") }
        return line?.split(separator: "\t").last.flatMap { pid_t($0) }
    }
}
