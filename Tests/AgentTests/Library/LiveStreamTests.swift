import DefaultsClient
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

@Suite("Changes by another process", .timeLimit(.minutes(1)))
struct LiveStreamTests {
    /// A real agent and defaults that use it, for tests that suspend.
    private final class Place {
        let agent: AgentProcess
        let client: Client
        let defaults: UserDefaults

        init(_ agent: AgentProcess) throws {
            self.agent = agent
            client = Client(.success(try Location(environment: Environment(agent.place.environment))))
            defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
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
        defer { used.client.close() }
        try await body(used)
    }

    @Test("A change set names the values that lost, and the version that their writer had loaded")
    func overruled() async throws {
        try await withPlace { place in
            #expect(place.defaults.object(forKey: "size") == nil)
            var changes = place.defaults.changes(in: .application).makeAsyncIterator()
            for size in ["1", "2"] { try place.agent.defaults("write", "org.example.app", "size", size) }
            try RawFile.write("{size = 1; other = 1;}", to: place.agent.place.path("org.example.app"))
            var lost: [DefaultsChange.Overruled] = []
            while lost.isEmpty, let event = try await changes.next() {
                if case .change(let change) = event { lost = change.overruled }
            }
            #expect(lost.map(\.key) == ["size"] && lost.map(\.source) == [.file])
            #expect(lost.map(\.value) == ["1"])
            guard case .olderVersion(.some)? = lost.first?.reason else {
                Issue.record("The older version is unknown: \(lost)")
                return
            }
        }
    }

    @Test("A change by another process arrives in updates(of:)")
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

    @Test("A change by another process arrives in changes(in:) with its source, in order with our own")
    func changes() async throws {
        try await withPlace { place in
            // Loads the domain, where the iteration starts.
            _ = place.defaults.values()
            var changes = place.defaults.changes(in: .application).makeAsyncIterator()
            try place.set(5)
            guard case .change(let first)? = try await changes.next() else { throw Missing() }
            guard case .process(let pid, let executable) = first.source else { throw Missing() }
            #expect(pid > 1)
            #expect(executable == Programs.defaults)
            #expect(first.changes.map(\.newValue) == [5])
            place.defaults.withTransaction { values in
                values[.size] = 6
                values.set("x", forKey: "other")
            }
            guard case .change(let second)? = try await changes.next() else { throw Missing() }
            #expect(second.source == .thisProcess)
            #expect(second.changes.map(\.key) == ["other", "size"])
            #expect(second.changes.map(\.oldValue) == [nil, 5])
            #expect(place.defaults.synchronize())
            let file = try PropertyListValue.dictionary(["size": 7, "other": "x"]).write(as: .xml)
            try RawFile.replace(place.agent.place.path("org.example.app"), with: file)
            guard case .change(let third)? = try await changes.next() else { throw Missing() }
            #expect(third.source == .file)
            #expect(third.changes.map(\.key) == ["size"])
            #expect(third.changes.map(\.oldValue) == [6])
            #expect(third.changes.map(\.newValue) == [7])
        }
    }

    @Test("A change by another process notifies Observation")
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

    @Test("A change in the global domain, or in a layer that was empty, arrives in updates(of:)")
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

    @Test("A change to several keys by another process is one element of snapshots()")
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

    @Test("The history has earlier change sets, newest first, and `undo` takes one back unless its key has changed")
    func history() async throws {
        try await withPlace { place in
            for number in 1...3 { try place.set(number) }
            place.defaults[.size] = 4
            place.defaults.synchronize()
            var changes: [DefaultsChange] = []
            for try await change in place.defaults.history(of: .application) { changes.append(change) }
            #expect(changes.map { $0.changes.first?.newValue } == [4, 3, 2, 1])
            #expect(changes.first?.source == .thisProcess)
            let last = try #require(changes.first)
            let result = try await place.defaults.undo(last)
            #expect(result.changes.map(\.newValue) == [3] && result.keptKeys == [])
            #expect(eventually { place.defaults[.size] == 3 })
            // The key has changed again since.
            #expect(try await place.defaults.undo(changes[3]).keptKeys == ["size"])
            var again = place.defaults.history(of: .application).makeAsyncIterator()
            #expect(try await again.next()?.origin?.purpose == .undo(last.cursor))
            // An undone change isn't undone again, even if the same value has been set since.
            #expect(try await place.defaults.undo(last).keptKeys == [])
            try place.set(4)
            let repeated = try await place.defaults.undo(last)
            #expect(repeated.changes == [] && repeated.keptKeys == ["size"])
            let present = try await place.defaults.history(of: .application).first { _ in true }
            #expect(present?.changes.first?.newValue == 4)
            place.agent.kill()
            await #expect(throws: DefaultsProblem.self) { try await place.defaults.undo(last) }
        }
    }
}
