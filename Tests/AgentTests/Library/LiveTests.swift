import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("UserDefaults across processes")
struct LiveTests {
    private static let suite = "org.example.app"

    /// Runs a test with defaults on their own connections, as another process would have.
    private func withDefaults<Value>(
        _ place: AgentProcess.Place, _ body: (UserDefaults) throws -> Value
    ) throws -> Value {
        let client = Client(.success(try Location(environment: Environment(place.environment))))
        defer { client.close() }
        let defaults = UserDefaults(suiteName: Self.suite, in: client)
        return try body(#require(defaults))
    }

    /// Returns the contents of the suite's file.
    private func saved(_ place: AgentProcess.Place) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(place.path(Self.suite)))
    }

    @Test("Defaults see what another process sets, and it sees what they set")
    func otherProcess() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place) { defaults in
                #expect(defaults.string(forKey: "a") == nil)
                try agent.defaults("write", Self.suite, "a", "1")
                #expect(eventually { defaults.string(forKey: "a") == "1" })
                defaults.set(2, forKey: "b")
                #expect(defaults.integer(forKey: "b") == 2)
                #expect(defaults.synchronize())
                let read = try agent.defaults("read", Self.suite, "b")
                #expect(read.output == "2\n")
            }
        }
    }

    @Test("Defaults without an agent use the files, switch to an agent that starts, and survive its death")
    func embedded() throws {
        try AgentProcess.withPlace { place in
            try withDefaults(place) { defaults in
                defaults.set("x", forKey: "a")
                #expect(defaults.synchronize())
                let agent = try AgentProcess(place)
                defaults.set("y", forKey: "b")
                #expect(defaults.synchronize())
                try agent.defaults("write", Self.suite, "c", "z")
                #expect(eventually { defaults.string(forKey: "c") == "z" })
                agent.kill()
                defaults.set("w", forKey: "d")
                #expect(defaults.synchronize())
                #expect(try saved(place) == ["a": "x", "b": "y", "c": "z", "d": "w"])
            }
        }
    }

    @Test("Defaults without an agent soon see what is written to the files")
    func embeddedReading() throws {
        try AgentProcess.withPlace { place in
            try withDefaults(place) { defaults in
                #expect(defaults.string(forKey: "a") == nil)
                try RawFile.write(PropertyListValue.dictionary(["a": "1"]).write(as: .xml), to: place.path(Self.suite))
                #expect(eventually { defaults.string(forKey: "a") == "1" })
                try RawFile.write(PropertyListValue.dictionary(["a": "2"]).write(as: .xml), to: place.path(Self.suite))
                #expect(defaults.synchronize())
                #expect(defaults.string(forKey: "a") == "2")
            }
        }
    }

    @Test("Edits are saved when the process exits, even if it never called synchronize", arguments: [true, false])
    func normalEnd(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let outcome = try Programs.run(
                Programs.liveWriter, [Self.suite, "k", "500"], environment: place.environment)
            #expect(outcome.errors == "" && outcome.status == 0)
            try agent?.synchronize()
            let expected = (0..<500).map { ("k\($0)", PropertyListValue.array([.integer($0)])) }
            #expect(try saved(place) == .dictionary(Dictionary(uniqueKeysWithValues: expected)))
        }
    }

    @Test("No edit is lost while the agent is killed and restarted again and again")
    func storm() throws {
        try AgentProcess.withPlace { place in
            let rounds = 400
            var agent: AgentProcess? = try AgentProcess(place)
            defer { agent?.kill() }
            try withDefaults(place) { reader in
                try withDefaults(place) { first in
                    try withDefaults(place) { second in
                        // Each writer counts up in one key and adds a key for each number.
                        for round in 0..<rounds {
                            for (number, defaults) in [first, second].enumerated() {
                                defaults.set(round, forKey: "count\(number)")
                                defaults.set(round, forKey: "w\(number).\(round)")
                                #expect(defaults.integer(forKey: "count\(number)") == round)
                            }
                            #expect(reader.integer(forKey: "count0") <= round)
                            switch round % 50 {
                            case 20: agent?.kill()
                            case 30, 45: agent = try AgentProcess(place)
                            case 40: agent?.terminate()
                            default: poll(nil, 0, 1)
                            }
                        }
                        #expect(first.synchronize() && second.synchronize())
                        #expect(first.synchronize() && reader.synchronize())
                        #expect(first.integer(forKey: "count1") == rounds - 1)
                    }
                }
                #expect(reader.integer(forKey: "count0") == rounds - 1)
            }
            guard case .dictionary(let values) = try saved(place) else { return }
            let lost = (0..<2).flatMap { number in
                (0..<rounds).map { ("w\(number).\($0)", PropertyListValue.integer(Int64($0))) }
            }.filter { values[$0.0] != $0.1 }.map(\.0)
            #expect(lost == [])
        }
    }
}
