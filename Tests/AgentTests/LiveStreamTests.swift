import DefaultsCore
import DefaultsKit
import Observation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

extension DefaultsKey where Value == Int {
    fileprivate static var size: Self { Self("size", default: 0) }
}

@Suite("Another process's change", .timeLimit(.minutes(1)))
struct LiveStreamTests {
    /// A real agent, for tests that suspend.
    private final class Place {
        let agent: AgentProcess
        let live: LiveDomains
        let defaults: UserDefaults

        init(_ agent: AgentProcess) throws {
            self.agent = agent
            live = LiveDomains(.success(try LivePlace(environment: Environment(agent.place.environment))))
            defaults = try #require(UserDefaults(suiteName: "org.example.app", in: live))
        }

        func set(_ number: Int) throws {
            try agent.defaults("write", "org.example.app", "size", "-int", "\(number)")
        }
    }

    /// Runs a test with an agent; the test may suspend.
    private func withPlace(_ body: (Place) async throws -> Void) async throws {
        let root = try AgentProcess.withPlace { $0.root }
        defer { removeTree(root) }
        try RawFile.makeDirectory(root, mode: 0o700)
        let place = AgentProcess.Place(preferences: root + "/p", runtime: root + "/r")
        for path in [place.preferences, place.runtime] { try RawFile.makeDirectory(path, mode: 0o700) }
        let agent = try AgentProcess(place)
        defer { agent.kill() }
        let used = try Place(agent)
        defer { used.live.close() }
        try await body(used)
    }

    @Test("comes by updates(of:)")
    func updates() async throws {
        try await withPlace { place in
            var updates = place.defaults.updates(of: .size).makeAsyncIterator()
            #expect(await updates.next() == 0)
            try place.set(5)
            #expect(await updates.next() == 5)
            place.defaults[.size] = 6
            #expect(await updates.next() == 6)
            try place.agent.defaults("delete", "org.example.app", "size")
            #expect(await updates.next() == 0)
        }
    }

    @Test("comes by changes(in:), with who made it, in order with the own ones")
    func changes() async throws {
        try await withPlace { place in
            var changes = place.defaults.changes(in: .application).makeAsyncIterator()
            try place.set(5)
            guard case .change(let first)? = await changes.next() else { throw Missing() }
            guard case .process(let pid, let executable) = first.source else { throw Missing() }
            #expect(pid > 1)
            #expect(executable == Programs.defaults)
            #expect(first.keys.map(\.new) == [5])
            place.defaults.transaction { values in
                values[.size] = 6
                values.set("x", forKey: "other")
            }
            guard case .change(let second)? = await changes.next() else { throw Missing() }
            #expect(second.source == .thisProcess)
            #expect(second.keys.map(\.name) == ["other", "size"])
            #expect(second.keys.map(\.old) == [nil, 5])
            #expect(place.defaults.synchronize())
            let file = try PropertyListValue.dictionary(["size": 7, "other": "x"]).write(as: .xml)
            try RawFile.replace(place.agent.place.path("org.example.app"), with: file)
            guard case .change(let third)? = await changes.next() else { throw Missing() }
            #expect(third.source == .file)
            #expect(third.keys.map(\.name) == ["size"])
            #expect(third.keys.map(\.old) == [6])
            #expect(third.keys.map(\.new) == [7])
        }
    }

    @Test("is seen by Observation")
    func observation() async throws {
        try await withPlace { place in
            let (values, value) = AsyncStream.makeStream(of: Int.self)
            let defaults = place.defaults
            withObservationTracking {
                #expect(defaults[.size] == 0)
            } onChange: {
                value.yield(defaults[.size])
            }
            try place.set(5)
            for await value in values {
                #expect(value == 5)
                break
            }
        }
    }

    @Test("comes in a layer that was empty, and in the global domain")
    func layers() async throws {
        try await withPlace { place in
            var updates = place.defaults.updates(of: .size).makeAsyncIterator()
            #expect(await updates.next() == 0)
            try place.agent.defaults("write", "-g", "size", "-int", "3")
            #expect(await updates.next() == 3)
            try place.set(5)
            #expect(await updates.next() == 5)
        }
    }

    @Test("is one element of snapshots for all its keys")
    func snapshots() async throws {
        try await withPlace { place in
            var snapshots = place.defaults.snapshots().makeAsyncIterator()
            #expect(await snapshots.next()?.values == [:])
            let file = try PropertyListValue.dictionary(["size": 7, "other": 8]).write(as: .xml)
            try RawFile.replace(place.agent.place.path("org.example.app"), with: file)
            #expect(await snapshots.next()?.values == ["size": 7, "other": 8])
        }
    }

    private struct Missing: Error {}
}
