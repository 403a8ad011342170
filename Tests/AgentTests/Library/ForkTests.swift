import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The library in a child whose parent forks without `exec`: `Tests/Forker` plays the scenes.
@Suite("Defaults in a forked child")
struct ForkTests {
    private static let suite = "org.example.app"

    /// Plays a scene, expects it to succeed, and returns the values in the suite's file.
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

    @Test("A child reads domains that its parent has read, and others", arguments: [true, false])
    func reading(hasAgent: Bool) throws {
        try play("read", hasAgent: hasAgent)
    }

    @Test("A child's edits are durable once it has synchronized", arguments: [true, false])
    func synchronizing(hasAgent: Bool) throws {
        let values = try play("synchronize", hasAgent: hasAgent)
        #expect(values["parent"] == 1 && values["child"] == 2)
    }

    @Test("A parent's waiting tasks go on in the parent alone", arguments: [true, false])
    func tasks(hasAgent: Bool) throws {
        try play("tasks", hasAgent: hasAgent)
    }

    @Test("A child's edits are saved when it exits normally", arguments: [true, false])
    func exiting(hasAgent: Bool) throws {
        let values = try play("exit", hasAgent: hasAgent)
        #expect(values["parent"] == 1 && values["child"] == 2)
    }

    @Test("A child that sets nothing exits immediately and doesn't send its parent's edits", arguments: [true, false])
    func idle(hasAgent: Bool) throws {
        #expect(try play("idle", hasAgent: hasAgent)["key"] == "new")
    }

    @Test(
        "A child reads its parent's unsaved edits, and later ones once it synchronizes", arguments: [true, false])
    func inheriting(hasAgent: Bool) throws {
        let values = try play("inherit", hasAgent: hasAgent)
        #expect(values["seed"] == "c" && values["gone"] == nil)
    }

    @Test("A grandchild reads and sets values after its parent has exited, as in a daemon", arguments: [true, false])
    func daemon(hasAgent: Bool) throws {
        let values = try play("daemon", hasAgent: hasAgent)
        #expect(values["parent"] == 1 && values["child"] == 2 && values["grandchild"] == 3)
    }

    @Test(
        "A parent receives its child's edits of a key that it follows",
        arguments: [true, false])
    func following(hasAgent: Bool) throws {
        #expect(try play("follow", hasAgent: hasAgent)["count"] == 100)
    }

    @Test("A child's problems are reported to the handler that its parent has set", arguments: [true, false])
    func problems(hasAgent: Bool) throws {
        try play("problem", hasAgent: hasAgent)
    }

    @Test(
        "None of 50 children hangs or loses its edit while its parent's threads are at work",
        arguments: [true, false])
    func storm(hasAgent: Bool) throws {
        let values = try play("storm", hasAgent: hasAgent)
        #expect(values.keys.count { $0.hasPrefix("child") } == 50)
    }

    @Test(
        "A child updates a key that its parent set just before exiting, saved or not",
        arguments: [true, false])
    func orphan(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let forker = try RunningProgram(
                Programs.forker, ["orphan", Self.suite], environment: place.environment)
            let line = try #require(forker.line(within: 60))
            let count = try #require(Int64(line))
            // Without an agent, the parent exits before its edit is saved, unless it is slow.
            #expect(count == 6 || !hasAgent && count == 1)
            #expect(try PropertyListValue(parsing: RawFile.read(place.path(Self.suite))) == ["count": .integer(count)])
        }
    }

    @Test("A parent's connection closes when the parent exits, even if its child lives on")
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
