import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsKit

@Suite("UserDefaults, live, in trouble")
struct LiveTroubleTests {
    private func withDefaults(
        _ place: AgentProcess.Place, pulse: Int64 = 30_000, _ body: (UserDefaults, LiveDomains) throws -> Void
    ) throws {
        let live = LiveDomains(.success(try LivePlace(environment: Environment(place.environment))), pulse: pulse)
        defer { live.close() }
        let defaults = UserDefaults(suiteName: "org.example.app", in: live)
        try body(#require(defaults), live)
    }

    @Test("An edit that is too large for the agent is refused, and keeps none that follows from being saved")
    func tooLarge() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place) { defaults, _ in
                let large = PropertyListValue.data([UInt8](repeating: 1, count: 65 << 20))
                defaults.set(large, forKey: "large")
                defaults.set(1, forKey: "after")
                #expect(defaults.synchronize())
                let read = try agent.defaults("read", "org.example.app", "after")
                #expect(read.output == "1\n")
                #expect(defaults.propertyListValue(forKey: "large") == nil)
            }
        }
    }

    @Test("A value that is nested too deep is refused where it is set")
    func tooDeep() throws {
        var value: PropertyListValue = .array([])
        for _ in 0..<600 { value = .array([value]) }
        let defaults = UserDefaults(inMemory: [:])
        defaults.transaction { $0.set(value, forKey: "deep") }
        let domain = try PreferencesDomain("org.example.app")
        domain.set(value, forKey: "deep", in: defaults)
        #expect(defaults.propertyListValue(forKey: "deep") == nil)
        #expect(domain.keys(in: defaults).isEmpty)
    }

    @Test("An edit that another process has overruled isn't made again when the agent dies")
    func overruled() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place) { defaults, _ in
                defaults.set(0, forKey: "k")
                #expect(defaults.synchronize())
                defaults.set(1, forKey: "k")
                try agent.synchronize()
                try agent.defaults("write", "org.example.app", "k", "-int", "0")
                #expect(eventually { defaults.integer(forKey: "k") == 0 })
                try agent.synchronize()
                agent.kill()
                #expect(defaults.synchronize())
                #expect(defaults.integer(forKey: "k") == 0)
            }
        }
    }

    @Test("A damaged file is told on standard error, with an agent and without", arguments: [true, false])
    func damaged(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let name = "org.example.damaged-\(hasAgent)"
            try RawFile.write(Array("x<plist".utf8), to: place.path(name))
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let outcome = try Programs.run(Programs.liveWriter, [name, "k", "1"], environment: place.environment)
            #expect(outcome.errors.contains(place.path(name)))
            #expect(outcome.status == 0)
        }
    }

    @Test("More names than the agent gives streams for can be read all the same")
    func manyNames() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "org.example.n300", "k", "v")
            try withDefaults(agent.place) { defaults, _ in
                for number in 0...300 {
                    let value = try PreferencesDomain("org.example.n\(number)").propertyListValue(
                        forKey: "k", in: defaults)
                    #expect(value == (number == 300 ? "v" : nil))
                }
            }
        }
    }

    @Test("Of many domains that are saved together, one that can't be keeps none of the others from being")
    func oneOfMany() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let path = agent.place.path("org.example.app")
            try RawFile.makeDirectory(path)
            try withDefaults(agent.place) { defaults, live in
                let names = (0..<40).map { "org.example.n\($0)" }
                for name in names { try PreferencesDomain(name).set(1, forKey: "k", in: defaults) }
                defaults.set(1, forKey: "k")
                #expect(!defaults.synchronize())
                func unsaved() -> [String] {
                    var unsaved = live.state.withLock { $0.unsaved }
                    return unsaved.beginSession().map(\.domain.name.description)
                }
                #expect(unsaved() == ["org.example.app"])
                for name in names {
                    #expect(try PropertyListValue(parsing: RawFile.read(agent.place.path(name))) == ["k": 1])
                }
                rmdir(path)
                #expect(defaults.synchronize())
                #expect(unsaved() == [])
                #expect(try PropertyListValue(parsing: RawFile.read(path)) == ["k": 1])
            }
        }
    }

    @Test("An agent that is stopped is done without, and what it finds when it goes on undoes nothing")
    func stopped() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place) { defaults, _ in
                defaults.set(1, forKey: "k")
                #expect(defaults.synchronize())
                agent.signal(SIGSTOP)
                defaults.set(2, forKey: "k")
                #expect(defaults.synchronize())
                defaults.set(3, forKey: "k")
                #expect(defaults.synchronize())
                agent.signal(SIGCONT)
                try agent.synchronize()
                let read = try agent.defaults("read", "org.example.app", "k")
                #expect(read.output == "3\n")
            }
        }
    }

    @Test("Who waits for changes learns of them though the agent is stopped, and nothing is asked of it")
    func stoppedBehindAnObserver() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place, pulse: 100) { defaults, live in
                #expect(defaults.integer(forKey: "k") == 0)
                let domain = Domain(try DomainName("org.example.app"))
                let follower = ChangeFollower(names: [domain.name])
                live.add(follower)
                defer { live.remove(follower) }
                agent.signal(SIGSTOP)
                defer { agent.signal(SIGCONT) }
                try RawFile.write(
                    PropertyListValue.dictionary(["k": 5]).write(as: .xml), to: agent.place.path("org.example.app"))
                #expect(eventually(within: 60) { live.values(of: domain) == ["k": 5] })
            }
        }
    }

    @Test("What a process has set that ends while the agent is stopped is in the file")
    func endWhileStopped() throws {
        try AgentProcess.withAgent { agent in
            agent.signal(SIGSTOP)
            let outcome = try Programs.run(
                Programs.liveWriter, ["org.example.app", "k", "2"], environment: agent.place.environment)
            #expect(outcome.status == 0)
            agent.kill()
            let values = try PropertyListValue(parsing: RawFile.read(agent.place.path("org.example.app")))
            #expect(values == ["k0": [0], "k1": [1]])
        }
    }
}
