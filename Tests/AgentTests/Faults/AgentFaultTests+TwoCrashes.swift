import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// An agent that crashes in a save, and the next one that crashes while it recovers.
///
/// A crash matters only at calls that change files: between two of them, it leaves the same files.
extension AgentFaultTests {
    /// A call that changes files, at some spot.
    private struct Point: Hashable, CustomStringConvertible {
        var spot: Spot
        var call: Call
        var crash: String { "\(call.name):signal=KILL:when=\(call.number)" }
        var description: String { "\(call) at \(spot)" }
    }

    private static let changing: Set<String> = [
        "fchmod", "fdatasync", "fsetxattr", "fsync", "ftruncate", "link", "linkat", "pwrite64", "rename", "renameat2",
        "unlink", "unlinkat", "write", "writev",
    ]

    /// The writer of another key between the second crash and the third agent.
    private enum OtherWriter: CaseIterable {
        case none
        case command
        case foreign
    }

    /// The edit that the first agent acknowledges.
    enum Work: CaseIterable {
        case set
        case removal
        case removalOfAll

        var values: DomainValues {
            switch self {
            case .set: AgentFaultTests.after
            case .removal: AgentFaultTests.before.filter { $0.key != "key" }
            case .removalOfAll: [:]
            }
        }

        /// The change, as a follower shows it.
        var change: String {
            switch self {
            case .set: "key before>after"
            case .removal: "key before>-"
            case .removalOfAll: "key before>-, old kept>-"
            }
        }
    }

    /// Makes an edit, which the agent has acknowledged but may not have saved on return.
    private func make(_ work: Work, _ agent: AgentProcess) throws {
        switch work {
        case .set: try edit(agent)
        case .removal: try make(["key": nil], agent)
        case .removalOfAll: try make([:], replacesAll: true, agent)
        }
    }

    // MARK: Calls

    /// Returns the points in a trace of all spots, each once.
    private func points(in trace: String, _ place: AgentProcess.Place) throws -> [Point] {
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        var seen: Set<Point> = []
        return try Spot.allCases.flatMap { spot in
            let places = try spot.paths(in: place).flatMap { ["<\($0)>", "\"\($0)\""] }
            let calls = lines.filter { line in places.contains { line.contains($0) } }.joined(separator: "\n")
            return Injection.calls(in: calls).filter { Self.changing.contains($0.name) }
                .map { Point(spot: spot, call: Call(name: $0.name, number: $0.number)) }
                .filter { seen.insert($0).inserted }
        }
    }

    /// Returns the points in an agent's edit and its save.
    private func pointsOfSave(_ work: Work) throws -> [Point] {
        try withAgent { agent in
            let trace = agent.place.root + "/trace"
            let tracing = try AttachedFault(agent.pid, at: allPaths(agent.place), nil, output: trace)
            defer { tracing.end() }
            try make(work, agent)
            try agent.synchronize()
            tracing.end()
            return try points(in: trace, agent.place)
        }
    }

    /// Returns the points in an agent's start and its first save, after a crash before or after an edit was saved.
    private func pointsOfRecovery(_ work: Work) throws -> [Point] {
        let points = try [true, false].flatMap { isSaved in
            try withAgent { agent in
                try make(work, agent)
                if isSaved { try agent.synchronize() }
                agent.kill()
                let trace = agent.place.root + "/trace"
                let next = try AgentProcess(
                    agent.place, launcher: AttachedFault.launcher(at: allPaths(agent.place), nil, output: trace))
                try next.synchronize()
                next.kill()
                let isComplete = try eventually {
                    try String(contentsOfFile: trace, encoding: .utf8).contains("+++ killed by SIGKILL +++")
                }
                #expect(isComplete)
                return try self.points(in: trace, agent.place)
            }
        }
        var seen: Set<Point> = []
        return points.filter { seen.insert($0).inserted }
    }

    private func allPaths(_ place: AgentProcess.Place) throws -> [String] {
        try Spot.allCases.flatMap { try $0.paths(in: place) }
    }

    // MARK: Crashes

    @Test(
        "Two crashes in a row, in a save and in the recovery, lose no acknowledged edit and no history",
        arguments: Work.allCases)
    func twoCrashes(work: Work) throws {
        let (first, second) = try (pointsOfSave(work), pointsOfRecovery(work))
        #expect(first.count > 3 && second.count > 9, "\(first), \(second)")
        var faults = Faults()
        let trials = first.flatMap { first in
            second.flatMap { second in OtherWriter.allCases.map { (first, second, $0) } }
        }
        for (number, trial) in trials.enumerated() where Self.hasAll || number % 31 == 2 {
            let tookEffect = try crashTwice(work, trial.0, trial.1, trial.2)
            faults.add("\(trial)", tookEffect: tookEffect)
        }
        faults.expectMost()
    }

    /// Crashes an agent and the next one, and expects a third one to recover; returns whether both have crashed.
    private func crashTwice(_ work: Work, _ first: Point, _ second: Point, _ writer: OtherWriter) throws -> Bool {
        try withAgent { agent in
            let (place, what) = (agent.place, "\(first), \(second), \(writer)")
            let cursor = try agent.connect().barrier().cursor
            let fault = try AttachedFault(agent.pid, at: first.spot.paths(in: place), first.crash)
            let isAcknowledged = (try? make(work, agent)) != nil
            let isSaved = (try? agent.synchronize()) != nil
            fault.end(afterDeath: true)
            agent.kill()

            let next = try? AgentProcess(
                place, launcher: AttachedFault.launcher(at: second.spot.paths(in: place), second.crash))
            let hasRecovered = (try? next?.synchronize()) != nil
            next?.kill()

            var other: PropertyListValue? = "x"
            switch writer {
            case .none: other = nil
            case .command:
                let outcome = try Programs.run(
                    Programs.defaults, ["write", Self.domain, "other", "x"],
                    environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
                #expect(outcome.status == 0, "\(what): \(outcome)")
            case .foreign:
                let values = try values(place).merging(["other": "x"]) { $1 }
                try RawFile.replace(
                    place.path(Self.domain), with: PropertyListValue.dictionary(values).write(as: .xml))
            }

            let last = try AgentProcess(place)
            defer { last.kill() }
            let found = try last.connect().snapshot(of: Domain(try DomainName(Self.domain))).values
            let isMade = found["key"] != "before"
            #expect(isMade || !isAcknowledged, "\(what): \(found)")
            var expected = isMade ? work.values : Self.before
            expected["other"] = other
            #expect(found == expected, "\(what)")
            #expect(try last.connect().barrier().failures == [], "\(what)")
            #expect(try values(place) == expected, "\(what)")
            let status = try last.status()
            #expect(status["errors"] == [] && status["pending"] == [], "\(what)")
            var changes = try last.follow(.after(cursor)).changes()
            let own = isMade ? ["\(Self.domain): \(work.change) (app)"] : []
            // The values before a file that was written without an agent are unknown, unless there was no file.
            if changes.last == "\(Self.domain): other ->x (file)", work == .removalOfAll { changes.removeLast() }
            #expect(changes == own || other != nil && changes == own + ["\(Self.domain): unknown"], "\(what)")
            expectNoLeftovers(place, hasFile: !expected.isEmpty, what)
            return fault.tookEffect && !isSaved && !hasRecovered
        }
    }
}
