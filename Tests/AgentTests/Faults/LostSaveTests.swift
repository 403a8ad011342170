import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

/// Commands whose connection to the agent is lost between the answer to an edit and the end of its save.
@Suite("Commands whose agent restarts before it confirms a save")
struct LostSaveTests {
    /// An agent that accepts an edit and ends during its save, and the agents that follow it.
    private final class Agents: Sendable {
        /// The values that the following agents have in effect.
        let next: DomainValues
        /// The errors with which the following agents answer `synchronize`.
        let failures: [DefaultsError]
        /// Whether the first agent ends before it answers the edit.
        let losesEdit: Bool
        let edits = Atomic(0)

        init(next: DomainValues = [:], failures: [DefaultsError] = [], losesEdit: Bool = false) {
            (self.next, self.failures, self.losesEdit) = (next, failures, losesEdit)
        }

        func reply(to request: NumberedRequest, _ agent: ScriptedAgent) -> ScriptedAgent.Reply {
            let isFirst = agent.connections.load(ordering: .relaxed) == 1
            let message: Message
            switch request.request {
            case .read(let domain, _):
                let values: DomainValues = isFirst ? ["key": "before"] : next
                message = .values(DomainSnapshot(domain: domain, values: values, cursor: ScriptedAgent.cursor(1)))
            case .edit:
                edits.add(1, ordering: .relaxed)
                if isFirst, losesEdit { return .last([]) }
                message = .edited(ScriptedAgent.cursor(2))
            case .synchronize:
                if isFirst { return .last([]) }
                message = .synchronized(ScriptedAgent.cursor(2), failures: failures)
            default: return .messages([])
            }
            return .messages([NumberedMessage(number: request.number, message: message)])
        }
    }

    private static let unknown = "The edit was made but may not be on disk yet.\n"

    /// Runs a command, and returns its outcome and the number of connections that it made.
    private func run(
        _ agents: Agents, _ arguments: [String]
    ) throws -> (outcome: Programs.Outcome, connections: Int) {
        var outcome: Programs.Outcome?
        var connections = 0
        try ScriptedAgent.with {
            agents.reply(to: $0, $1)
        } _: { agent, environment in
            outcome = try Programs.run(Programs.defaults, arguments, environment: environment.variables)
            connections = agent.connections.load(ordering: .relaxed)
        }
        return (try #require(outcome), connections)
    }

    @Test(
        "A command succeeds if the next agent has its edit and saves it",
        arguments: [
            (["write", "a.b", "key", "after"], ["key": "after", "other": 1]),
            (["write", "a.b", "{key = after;}"], ["key": "after"]),
            (
                ["write", "a.b", "key", "-date", "2026-11-25T10:00:00.5Z"],
                ["key": .date(.init(secondsSinceReferenceDate: 817293600))]
            ),
            (["rename", "a.b", "key", "new"], ["new": "before", "other": 1]),
            (["delete", "a.b", "key"], ["other": 1]),
            (["delete", "a.b"], [:]),
        ] as [([String], DomainValues)])
    func saved(arguments: [String], values: DomainValues) throws {
        let agents = Agents(next: values)
        let (outcome, connections) = try run(agents, arguments)
        #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
        #expect(connections == 2)
        #expect(agents.edits.load(ordering: .relaxed) == 1)
    }

    @Test(
        "A command doesn't succeed if the next agent doesn't have its edit",
        arguments: [
            (["write", "a.b", "key", "after"], ["key": "before"]),
            (["write", "a.b", "key", "after"], [:]),
            (["write", "a.b", "{key = after;}"], ["key": "after", "other": 1]),
            (["rename", "a.b", "key", "new"], ["key": "before", "new": "before"]),
            (["delete", "a.b"], ["key": "before"]),
        ] as [([String], DomainValues)])
    func lost(arguments: [String], values: DomainValues) throws {
        let agents = Agents(next: values)
        let (outcome, _) = try run(agents, arguments)
        #expect(outcome.status == 69 && outcome.errors.hasSuffix(Self.unknown), "\(outcome)")
        #expect(agents.edits.load(ordering: .relaxed) == 1)
    }

    @Test("A command fails with the reason why the next agent can't save its edit")
    func unsaved() throws {
        let failure = DefaultsError(.notSaved, "The disk is full.")
        let (outcome, connections) = try run(
            Agents(next: ["key": "after"], failures: [failure]), ["write", "a.b", "key", "after"])
        #expect(outcome.status == 74 && outcome.errors == "defaults: The disk is full.\n", "\(outcome)")
        #expect(connections == 2)
    }

    @Test("A command whose connection is lost during the edit itself neither repeats it nor succeeds")
    func lostEdit() throws {
        let agents = Agents(next: ["key": "after"], losesEdit: true)
        let (outcome, connections) = try run(agents, ["write", "a.b", "key", "after"])
        #expect(outcome.status == 69 && outcome.errors.contains("may have been made"), "\(outcome)")
        #expect(connections == 1)
        #expect(agents.edits.load(ordering: .relaxed) == 1)
    }

    @Test("A command whose agent is gone succeeds only if the edit is in the file", arguments: [true, false])
    func embedded(isInFile: Bool) throws {
        let agents = Agents()
        try ScriptedAgent.with { request, agent in
            if case .synchronize = request.request {
                if isInFile {
                    let values = PropertyListValue.dictionary(["key": "after"])
                    try? RawFile.write(values.write(as: .xml), to: "\(agent.path)/a.b.plist")
                }
                unlink("\(agent.path)/defaultsd/socket")
            }
            return agents.reply(to: request, agent)
        } _: { agent, environment in
            // The default socket, without which commands use the files.
            try #require(mkdir("\(agent.path)/defaultsd", 0o700) == 0)
            try #require(symlink("../socket", "\(agent.path)/defaultsd/socket") == 0)
            let usual = environment.variables.merging([
                "DEFAULTS_DIRECTORY": "", "DEFAULTSD_SOCKET": "", "XDG_CONFIG_HOME": agent.path,
                "XDG_RUNTIME_DIR": agent.path,
            ]) { $1 }
            let outcome = try Programs.run(
                Programs.defaults, ["write", "a.b", "key", "after"], environment: usual)
            #expect(outcome.status == (isInFile ? 0 : 69), "\(outcome)")
            #expect(outcome.errors.hasSuffix(isInFile ? "" : Self.unknown), "\(outcome)")
            #expect(agent.connections.load(ordering: .relaxed) == 1)
        }
    }
}
