import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

@Suite("UserDefaults under adverse conditions")
struct LiveTroubleTests {
    private func withDefaults(
        _ place: AgentProcess.Place, keepAliveInterval: Int64 = 30_000, _ body: (UserDefaults, Client) throws -> Void
    ) throws {
        let client = Client(
            .success(try Location(environment: Environment(place.environment))), keepAliveInterval: keepAliveInterval)
        defer { client.close() }
        let defaults = UserDefaults(suiteName: "org.example.app", in: client)
        try body(#require(defaults), client)
    }

    @Test("An edit that is too large for the agent is refused, and later edits are still saved")
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

    @Test("A value that can't be stored doesn't discard the other edits of a burst")
    func burst() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place) { defaults, _ in
                let never = PropertyListDate(secondsSinceReferenceDate: .nan)
                for number in 0..<2_000 {
                    defaults.set(number, forKey: "k\(number)")
                    if number == 1_000 { defaults.edit(["bad": .date(never)]) }
                }
                #expect(defaults.synchronize())
                let domain = Domain(try DomainName("org.example.app"))
                let values = try agent.connect().snapshot(of: domain).values
                #expect(values.count == 2_000 && values["bad"] == nil)
            }
        }
    }

    @Test("A value that is nested too deeply is refused when it is set")
    func tooDeep() throws {
        var value: PropertyListValue = .array([])
        for _ in 0..<600 { value = .array([value]) }
        let defaults = UserDefaults(inMemory: [:])
        defaults.withTransaction { $0.set(value, forKey: "deep") }
        let domain = try defaults.domain("org.example.app")
        domain.set(value, forKey: "deep")
        #expect(defaults.propertyListValue(forKey: "deep") == nil)
        #expect(domain.values.isEmpty)
    }

    @Test("An edit that another process has overruled isn't repeated when the agent dies")
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

    @Test("A damaged file is reported on standard error, with and without an agent", arguments: [true, false])
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

    @Test("A process can read more domains than the agent streams to one client")
    func manyNames() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "org.example.n300", "k", "v")
            try withDefaults(agent.place) { defaults, _ in
                for number in 0...300 {
                    let value = try defaults.domain("org.example.n\(number)").propertyListValue(
                        forKey: "k")
                    #expect(value == (number == 300 ? "v" : nil))
                }
            }
        }
    }

    @Test("A domain that can't be saved doesn't keep others from being saved with it")
    func oneOfMany() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let path = agent.place.path("org.example.app")
            try RawFile.makeDirectory(path)
            try withDefaults(agent.place) { defaults, client in
                let names = (0..<40).map { "org.example.n\($0)" }
                for name in names { try defaults.domain(name).set(1, forKey: "k") }
                defaults.set(1, forKey: "k")
                #expect(!defaults.synchronize())
                func unsaved() -> [String] {
                    var unsaved = client.state.withLock { $0.unsaved }
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

    @Test("Edits are saved while the agent is stopped, and the resumed agent undoes none of them")
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

    @Test("A change in place doesn't wait for an update while the agent is stopped, and neither is lost")
    func overtakenUpdate() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place) { defaults, _ in
                let key = DefaultsKey("count", default: 0)
                defaults[key] = 1
                #expect(defaults.synchronize())
                agent.signal(SIGSTOP)
                let (runs, isMade) = (ForkSafeMutex(0), ForkSafeMutex<Bool?>(nil))
                let hasStarted = DetachedThread.start {
                    let made: Void? = try? defaults.update(key) { count in
                        runs.withLock { $0 += 1 }
                        count += 1
                    }
                    isMade.withLock { $0 = made != nil }
                }
                #expect(hasStarted && eventually { runs.withLock { $0 } > 0 })
                defaults[key] += 10
                #expect(isMade.withLock { $0 } == nil)
                agent.signal(SIGCONT)
                #expect(eventually(within: 120) { isMade.withLock { $0 } == true })
                #expect(defaults.synchronize())
                let read = try agent.defaults("read", "org.example.app", "count")
                #expect(read.output == "12\n")
            }
        }
    }

    @Test("An observer sees changes to the files even while the agent is stopped")
    func stoppedBehindAnObserver() throws {
        try AgentProcess.withAgent { agent in
            try withDefaults(agent.place, keepAliveInterval: 100) { defaults, client in
                #expect(defaults.integer(forKey: "k") == 0)
                let domain = Domain(try DomainName("org.example.app"))
                let follower = ChangeFollower(names: [domain.name])
                client.add(follower)
                defer { client.remove(follower) }
                agent.signal(SIGSTOP)
                defer { agent.signal(SIGCONT) }
                try RawFile.write(
                    PropertyListValue.dictionary(["k": 5]).write(as: .xml), to: agent.place.path("org.example.app"))
                #expect(eventually(within: 60) { client.values(of: domain) == ["k": 5] })
            }
        }
    }

    @Test("Edits of a process that exits while the agent is stopped are in the file")
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
