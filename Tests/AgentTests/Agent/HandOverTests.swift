import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The handover from the private agent of `defaults tail` to an ordinary agent, seen by tails that follow both.
@Suite("Handover between agents")
struct HandOverTests {
    /// A running `defaults tail --json` and what it has shown so far.
    private final class Tail {
        let program: RunningProgram
        private(set) var agent: pid_t = 0
        /// The types of all objects shown so far.
        private(set) var types: Set<String> = []

        init(_ place: AgentProcess.Place) throws {
            program = try RunningProgram(Programs.defaults, ["tail", "--json"], environment: place.environment)
            while agent == 0 { try next() }
            _ = try program.objects(upTo: "bookmark")
        }

        /// Returns the numbers that the changes set, up to and including `last`.
        func numbers(upTo last: Int) throws -> [Int] {
            var numbers: [Int] = []
            while numbers.last != last {
                if let number = try next() { numbers.append(number) }
            }
            return numbers
        }

        @discardableResult
        private func next() throws -> Int? {
            let object = try program.object()
            let type = object["type"] as? String ?? ""
            types.insert(type)
            if type == "ready" { agent = pid_t(object["pid"] as? Int ?? 0) }
            return (object["changes"] as? [[String: Any]])?.first?["new"] as? Int
        }
    }

    private static func write(_ numbers: ClosedRange<Int>, _ place: AgentProcess.Place) throws {
        for number in numbers {
            let arguments = ["write", "a.b", "number", "-int", "\(number)"]
            let outcome = try Programs.run(Programs.defaults, arguments, environment: place.environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }

    @Test("Two tails show each change once while an ordinary agent takes over and one of them ends")
    func twoTails() throws {
        try AgentProcess.withPlace { place in
            let first = try Tail(place)
            let second = try Tail(place)
            #expect(first.agent == second.agent)
            try Self.write(1...3, place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try Self.write(4...6, place)
            #expect(try first.numbers(upTo: 6) == [1, 2, 3, 4, 5, 6])
            first.program.signal(SIGTERM)
            #expect(first.program.status() == 128 + SIGTERM)
            try Self.write(7...9, place)
            #expect(try second.numbers(upTo: 9) == [1, 2, 3, 4, 5, 6, 7, 8, 9])
            #expect(first.agent == agent.pid && second.agent == agent.pid)
            for tail in [first, second] { #expect(tail.types.isSubset(of: ["ready", "bookmark", "change"])) }
            #expect(agent.terminate() == 0)
        }
    }

    @Test("A tail's agent serves other tails after its own tail is killed, and exits with the last of them")
    func otherClients() throws {
        try AgentProcess.withPlace { place in
            let first = try Tail(place)
            let second = try Tail(place)
            first.program.signal(SIGKILL)
            #expect(first.program.status() == 128 + SIGKILL)
            try Self.write(1...3, place)
            #expect(try second.numbers(upTo: 3) == [1, 2, 3])
            #expect(second.agent == first.agent && second.types.isSubset(of: ["ready", "bookmark", "change"]))
            second.program.signal(SIGTERM)
            _ = second.program.status()
            let hasEnded = eventually { !RawFile.exists(place.socket) && kill(first.agent, 0) != 0 }
            #expect(hasEnded)
        }
    }

    @Test("A tail's agent that outlives its tail still hands over to an ordinary agent")
    func orphan() throws {
        try AgentProcess.withPlace { place in
            let first = try Tail(place)
            let second = try Tail(place)
            first.program.signal(SIGKILL)
            #expect(first.program.status() == 128 + SIGKILL)
            try Self.write(1...1, place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try Self.write(2...2, place)
            #expect(try second.numbers(upTo: 2) == [1, 2])
            #expect(second.agent == agent.pid && second.types.isSubset(of: ["ready", "bookmark", "change"]))
        }
    }

    @Test("A tail's agent keeps its socket when an agent for another directory starts")
    func otherDirectory() throws {
        try AgentProcess.withPlace { place in
            let tail = try Tail(place)
            try RawFile.makeDirectory(place.root + "/other")
            let other = try RunningProgram(
                Programs.defaultsd, ["--directory", place.root + "/other"], environment: place.environment)
            #expect(other.status() == 75)
            let errors = other.complaints()
            #expect(errors.contains("serves the socket"), "\(errors)")
            try Self.write(1...1, place)
            #expect(try tail.numbers(upTo: 1) == [1])
            #expect(tail.types.isSubset(of: ["ready", "bookmark", "change"]) && kill(tail.agent, 0) == 0)
        }
    }

    @Test("When an ordinary agent exits, a tail starts its own agent and misses no change")
    func ordinaryAgentEnds() throws {
        try AgentProcess.withAgent { agent in
            let tail = try Tail(agent.place)
            #expect(agent.terminate() == 0)
            let answers = try eventually(within: 4) {
                try Programs.run(Programs.defaults, ["status"], environment: agent.place.environment).status == 0
            }
            #expect(answers)
            try Self.write(1...2, agent.place)
            #expect(try tail.numbers(upTo: 2) == [1, 2])
            #expect(tail.types.isSubset(of: ["ready", "bookmark", "change"]))
        }
    }

    @Test("A tail's agent runs in its own session, so that the terminal's signals don't reach it")
    func session() throws {
        try AgentProcess.withPlace { place in
            let tail = try Tail(place)
            #expect(getsid(tail.agent) == tail.agent)
            #expect(getpgid(tail.agent) == tail.agent)
        }
    }

    @Test("A tail's agent that outlives its tail doesn't hold the tail's output open")
    func pipes() throws {
        try AgentProcess.withPlace { place in
            let first = try Tail(place)
            let second = try Tail(place)
            first.program.signal(SIGTERM)
            let isAtItsEnd = eventually { first.program.status(within: 0) != nil }
            #expect(isAtItsEnd)
            #expect(first.program.line() == nil && first.program.complaints() == "")
            #expect(kill(second.agent, 0) == 0)
        }
    }

    @Test("An ordinary agent refuses to hand over and keeps serving")
    func refusal() throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            try client.send(["type": "handOver", "request": 2])
            #expect(try client.answer() == "failure agentRefused")
            try client.send(["type": "status", "request": 3])
            #expect(try client.answer() == "status")
        }
    }

    @Test("A tail that names the default directory explicitly follows the default agent")
    func namedUsualDirectory() throws {
        try AgentProcess.withPlace { place in
            let usual = [
                "DEFAULTS_DIRECTORY": "", "DEFAULTSD_SOCKET": "", "XDG_CONFIG_HOME": "", "HOME": place.root,
                "XDG_RUNTIME_DIR": place.runtime,
            ]
            #expect(rename(place.preferences, place.root + "/.config") == 0)
            let environment = place.environment.merging(usual) { $1 }
            let agent = try RunningProgram(Programs.defaultsd, [], environment: environment)
            let answers = try eventually {
                try Programs.run(Programs.defaults, ["status"], environment: environment).status == 0
            }
            #expect(answers)
            let named = environment.merging(["DEFAULTS_DIRECTORY": place.root + "/.config"]) { $1 }
            let tail = try RunningProgram(Programs.defaults, ["tail", "--json"], environment: named)
            #expect(try tail.object()["pid"] as? Int == Int(agent.pid))
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    @Test("A tail at the wrong socket exits immediately and names the directory's agent and its socket")
    func otherSocket() throws {
        try AgentProcess.withAgent { agent in
            let outcome = try agent.defaults(
                "tail", "--socket", agent.place.runtime + "/other", "--timeout", "30")
            #expect(outcome.status == 69)
            let place = "The agent of \(agent.place.preferences) (pid \(agent.pid)) listens on \(agent.place.socket)"
            #expect(outcome.errors.contains(place), "\(outcome)")
            #expect(outcome.errors.contains("`--socket \(agent.place.socket)`"), "\(outcome)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }
}
