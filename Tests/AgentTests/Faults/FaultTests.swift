import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A write without an agent that crashes or gets an error, at each system call in turn.
///
/// `FAULTS=all swift test --filter FaultTests` tries every error at every call, including those of the agent.
@Suite("Interrupted writes without an agent", .enabled(if: Injection.isPossible))
struct FaultTests {
    private static let domain = "org.example.app"
    private static let before: [String: PropertyListValue] = ["old": "kept", "key": "before"]
    private static let after = before.merging(["key": "after"]) { $1 }
    /// The system calls that have no part in the write, or that end the process themselves.
    private static let others: Set<String> = [
        "exit_group", "munmap", "mmap", "brk", "rt_sigprocmask", "gettid", "getpid",
    ]

    private func write(_ key: String, _ value: String) -> [String] { ["write", Self.domain, key, value] }

    /// Runs a test, which returns its runs, for each system call that a write makes in the directory.
    ///
    /// Not every run reaches the call that was counted in another run. Most must, or the test would prove nothing.
    private func forEachCall(
        _ body: (AgentProcess.Place, (call: String, number: Int)) throws -> [Injection.Run]
    ) throws {
        try AgentProcess.withPlace { place in
            try prepare(place)
            let calls = try Injection.calls(
                of: Programs.defaults, write("key", "after"), from: place.preferences, environment: environment(place))
            #expect(calls.count > 20)
            var runs: [Injection.Run] = []
            for call in calls where !Self.others.contains(call.call) {
                try prepare(place)
                runs += try body(place, call)
            }
            let faults = runs.count { $0.tookEffect }
            #expect(faults * 4 > runs.count * 3, "Of \(runs.count) faults, \(faults) took effect.")
        }
    }

    private func prepare(_ place: AgentProcess.Place) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: place.preferences) {
            removeTree("\(place.preferences)/\(name)")
        }
        try RawFile.replace(
            place.path(Self.domain), with: PropertyListValue.dictionary(Self.before).write(as: .xml))
    }

    private func environment(_ place: AgentProcess.Place) -> [String: String] {
        // An empty socket makes the command look for an agent in the default places, where none runs.
        place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
    }

    private func values(_ place: AgentProcess.Place) throws -> [String: PropertyListValue] {
        let value = try PropertyListValue(parsing: RawFile.read(place.path(Self.domain)))
        guard case .dictionary(let values) = value else { return [:] }
        return values
    }

    /// Expects the next write to succeed and to leave nothing behind but backup copies.
    private func expectRecovery(_ place: AgentProcess.Place, _ injection: Injection) throws {
        let values = try values(place)
        let outcome = try Programs.run(
            Programs.defaults, write("next", "1"), environment: environment(place))
        #expect(outcome.status == 0, "\(injection): \(outcome.errors)")
        #expect(try self.values(place) == values.merging(["next": "1"]) { $1 }, "\(injection)")
        let left = try FileManager.default.contentsOfDirectory(atPath: place.preferences).filter {
            $0 != "\(Self.domain).plist" && !$0.contains(".displaced-")
        }
        #expect(left == [], "\(injection)")
    }

    @Test("A write that crashes leaves the old or the new version of the file, and the next one cleans up")
    func crash() throws {
        try forEachCall { place, call in
            let injection = Injection(call: call.call, number: call.number, fault: "signal=KILL")
            let run = try injection.run(
                Programs.defaults, write("key", "after"), environment: environment(place))
            #expect((run.outcome.status == 0) == !run.tookEffect, "\(injection): \(run)")
            let values = try values(place)
            #expect(values == Self.after || run.tookEffect && values == Self.before, "\(injection): \(values)")
            try expectRecovery(place, injection)
            return [run]
        }
    }

    /// The errors to inject: all of them at each call with `FAULTS=all`, otherwise one per call, in turn.
    private static let errors = ["ENOSPC", "EIO", "EACCES", "EROFS", "EINTR", "EDQUOT", "EMFILE"]

    @Test("A write in which a system call fails reports the error or succeeds")
    func errors() throws {
        var turn = 0
        let hasAll = ProcessInfo.processInfo.environment["FAULTS"] == "all"
        try forEachCall { place, call in
            turn += 1
            var runs: [Injection.Run] = []
            for error in hasAll ? Self.errors : [Self.errors[turn % Self.errors.count]] {
                if hasAll { try prepare(place) }
                let injection = Injection(call: call.call, number: call.number, fault: "error=\(error)")
                let run = try injection.run(
                    Programs.defaults, write("key", "after"), environment: environment(place))
                runs.append(run)
                let outcome = run.outcome
                #expect(outcome.status == 0 || run.tookEffect, "\(injection): \(outcome)")
                let values = try values(place)
                #expect([Self.before, Self.after].contains(values), "\(injection): \(values)")
                if outcome.status == 0 {
                    #expect(values == Self.after, "\(injection): The command reported a save.")
                } else {
                    #expect(outcome.errors.hasPrefix("defaults: "), "\(injection): \(outcome.errors)")
                }
                try expectRecovery(place, injection)
            }
            return runs
        }
    }
}
