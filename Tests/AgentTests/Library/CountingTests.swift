import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A count that several processes increment concurrently: `Tests/Leaver` plays the scenes.
///
/// Each process increments it 200 times, or as often as the variable `COUNTS` says.
///
/// There is no time limit: tests that have one run together, late, and make each other exceed it.
@Suite("A count shared by processes")
struct CountingTests {
    private static let suite = "org.example.app"
    private static let times = Int64(ProcessInfo.processInfo.environment["COUNTS"] ?? "") ?? 200

    /// The use of agents in a test.
    enum Agents: CaseIterable {
        /// One agent, which all programs use.
        case one
        case none
        /// One agent, which half of the programs use while the others save by themselves.
        case mixed
    }

    /// Starts eight programs in a place.
    private func programs(_ scene: String, _ agents: Agents, in place: AgentProcess.Place) throws -> [RunningProgram] {
        try (0..<8).map { number in
            var environment = place.environment
            environment["COUNTS"] = "\(Self.times)"
            if agents == .mixed, number % 2 == 0 { environment["DEFAULTSD_SOCKET"] = place.root + "/none" }
            return try RunningProgram(Programs.leaver, [scene, Self.suite], environment: environment)
        }
    }

    private func count(in place: AgentProcess.Place) throws -> Int64 {
        guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(place.path(Self.suite))),
            case .integer(let count) = values["count"]
        else { return 0 }
        return count
    }

    /// Runs eight programs concurrently and returns the final count.
    private func play(_ scene: String, _ agents: Agents) throws -> Int64 {
        try AgentProcess.withPlace { place in
            let agent = agents == .none ? nil : try AgentProcess(place)
            defer { agent?.kill() }
            for program in try programs(scene, agents, in: place) {
                #expect(program.status(within: 300) == 0)
                #expect(program.complaints() == "")
            }
            return try count(in: place)
        }
    }

    @Test("Eight processes that increment a count with `update` lose nothing", arguments: Agents.allCases)
    func updates(agents: Agents) throws {
        #expect(try play("updates", agents) == 8 * Self.times)
    }

    @Test("Eight processes that increment a count in transactions lose nothing", arguments: Agents.allCases)
    func transactions(agents: Agents) throws {
        #expect(try play("transactions", agents) == 8 * Self.times)
    }

    @Test(
        "An increment is never lost, and counts twice only if an agent was killed before it answered",
        arguments: ["uncertainUpdates", "transactions"])
    func killedAgents(scene: String) throws {
        try AgentProcess.withPlace { place in
            let programs = try programs(scene, .one, in: place)
            var kills: Int64 = 0
            while programs.contains(where: \.isRunning) {
                let agent = try AgentProcess(place)
                // No program may have saved anything yet.
                let before = (try? count(in: place)) ?? 0
                // The agent is killed in the middle of its work.
                let isAtWork = eventually(within: 60) {
                    let count = (try? count(in: place)) ?? 0
                    return count > before + 2 * Self.times || !programs.contains(where: \.isRunning)
                }
                #expect(isAtWork)
                agent.signal(SIGKILL)
                agent.kill()
                kills += 1
            }
            var uncertain = kills * Int64(programs.count)
            if scene == "uncertainUpdates" {
                uncertain = 0
                for program in programs {
                    let line = try #require(program.line())
                    uncertain += try #require(Int64(line))
                }
            }
            for program in programs { #expect(program.status() == 0) }
            let total = try count(in: place)
            #expect(total >= 8 * Self.times && total <= 8 * Self.times + uncertain)
        }
    }
}
