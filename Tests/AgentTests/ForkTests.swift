import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// What a child has of the library when its parent forks without `exec`: `Tests/Forker` plays the scenes.
@Suite("Defaults in a forked child")
struct ForkTests {
    private static let suite = "org.example.app"

    /// Plays a scene to its good end, and gives what is in the suite's file then.
    @discardableResult
    private func play(_ scene: String, hasAgent: Bool) throws -> DomainValues {
        try AgentProcess.withPlace { place in
            try RawFile.write(
                PropertyListValue.dictionary(["seed": "s", "gone": 1]).write(as: .xml), to: place.path(Self.suite))
            for damaged in ["broken", "damaged"] { try RawFile.write("oops", to: place.path("org.example.\(damaged)")) }
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let forker = try RunningProgram(Programs.forker, [scene, Self.suite], environment: place.environment)
            let status = forker.status(within: 300)
            #expect(status == 0, "\(forker.complaints())")
            try agent?.synchronize()
            guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(place.path(Self.suite)))
            else { return [:] }
            return values
        }
    }

    @Test("A child reads what its parent has read, and what it hasn't", arguments: [true, false])
    func reading(hasAgent: Bool) throws {
        try play("read", hasAgent: hasAgent)
    }

    @Test("A child's edits are durable once it has synchronized", arguments: [true, false])
    func synchronizing(hasAgent: Bool) throws {
        let values = try play("synchronize", hasAgent: hasAgent)
        #expect(values["parent"] == 1 && values["child"] == 2)
    }

    @Test("A child's edits outlive its normal end", arguments: [true, false])
    func exiting(hasAgent: Bool) throws {
        let values = try play("exit", hasAgent: hasAgent)
        #expect(values["parent"] == 1 && values["child"] == 2)
    }

    @Test("A child that sets nothing ends at once, and leaves its parent's edits to it", arguments: [true, false])
    func idle(hasAgent: Bool) throws {
        #expect(try play("idle", hasAgent: hasAgent)["key"] == "new")
    }

    @Test("A child reads its parent's unsaved edits, and then what its parent sets later", arguments: [true, false])
    func inheriting(hasAgent: Bool) throws {
        let values = try play("inherit", hasAgent: hasAgent)
        #expect(values["seed"] == "c" && values["gone"] == nil)
    }

    @Test("A child's child goes on, as a daemon does", arguments: [true, false])
    func daemon(hasAgent: Bool) throws {
        let values = try play("daemon", hasAgent: hasAgent)
        #expect(values["parent"] == 1 && values["child"] == 2 && values["grandchild"] == 3)
    }

    @Test(
        "A parent follows what its child sets, and the child may set what its parent follows",
        arguments: [true, false])
    func following(hasAgent: Bool) throws {
        #expect(try play("follow", hasAgent: hasAgent)["count"] == 100)
    }

    @Test("A child's problems are told to the handler that its parent has named", arguments: [true, false])
    func problems(hasAgent: Bool) throws {
        try play("problem", hasAgent: hasAgent)
    }

    @Test("No child of 50 hangs or loses its edit while its parent's threads are at work", arguments: [true, false])
    func storm(hasAgent: Bool) throws {
        let values = try play("storm", hasAgent: hasAgent)
        #expect(values.keys.count { $0.hasPrefix("child") } == 50)
    }

    @Test(
        "A child updates a key that its parent has set just before it ended, saved or not",
        arguments: [true, false])
    func orphan(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let forker = try RunningProgram(
                Programs.forker, ["orphan", Self.suite], environment: place.environment)
            let line = try #require(forker.line(within: 60))
            let count = try #require(Int64(line))
            // Without an agent, the parent has ended before it saved, unless it was slow.
            #expect(count == 6 || !hasAgent && count == 1)
            #expect(try PropertyListValue(parsing: RawFile.read(place.path(Self.suite))) == ["count": .integer(count)])
        }
    }

    @Test("A parent's connection ends with the parent, though its child stays")
    func connection() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", Self.suite, "seed", "s")
            let forker = try RunningProgram(
                Programs.forker, ["stay", Self.suite], environment: agent.place.environment, takesInput: true)
            let parent = try #require(forker.line().flatMap { Int64($0) })
            let isGone = try eventually {
                guard case .array(let subscribers) = try agent.status()["subscribers"] else { return false }
                return !subscribers.contains { subscriber in
                    guard case .dictionary(let fields) = subscriber else { return false }
                    return fields["pid"] == .integer(parent)
                }
            }
            #expect(isGone)
            try forker.send("go")
        }
    }
}
