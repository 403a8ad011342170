import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Ansible's module `community.general.osx_defaults`, run by Ansible with our `defaults` in place of Apple's.
@Suite("Ansible's osx_defaults")
struct AnsibleTests {
    private static let directory = Repository.path + "/.build-ansible"

    /// Whether `.ci/ansible` has installed Ansible.
    static let isThere = RawFile.exists(directory + "/ready")

    /// Returns the environment in which Python finds Ansible, which keeps its own files in a home directory.
    static func environment(home: String) -> [String: String] {
        [
            "ANSIBLE_COLLECTIONS_PATH": directory, "ANSIBLE_HOME": home + "/ansible",
            "ANSIBLE_LOCALHOST_WARNING": "0", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PIPELINING": "1", "LC_ALL": "C.UTF-8",
            "PYTHONPATH": directory + "/lib", "TZ": "UTC",
        ]
    }

    /// The outcome of a task, as Ansible prints it.
    private enum Outcome: String { case ok, changed, fatal }

    private typealias Task = (arguments: [String: Any], outcome: Outcome, checks: Bool)

    /// Returns a task whose module should report a change.
    private static func changes(_ arguments: [String: Any], checks: Bool = false) -> Task {
        (arguments, .changed, checks)
    }

    /// Returns a task whose module should find nothing to change.
    private static func keeps(_ arguments: [String: Any], checks: Bool = false) -> Task {
        (arguments, .ok, checks)
    }

    /// Returns a module's arguments that set a key of a domain.
    private static func set(
        _ key: String, _ type: String, _ value: Any, in domain: String? = "org.example.app", _ more: [String: Any] = [:]
    ) -> [String: Any] {
        var arguments: [String: Any] = ["key": key, "type": type, "value": value]
        arguments["domain"] = domain
        return arguments.merging(more) { $1 }
    }

    /// Runs tasks in one play and expects the outcome of each.
    private static func play(_ tasks: [Task], _ agent: AgentProcess) throws {
        let play: [String: Any] = [
            "hosts": "localhost", "gather_facts": false,
            "tasks": tasks.map { task in
                [
                    "check_mode": task.checks, "ignore_errors": true,
                    "community.general.osx_defaults": task.arguments.merging(["path": Programs.directory]) { $1 },
                ]
            },
        ]
        let file = agent.place.root + "/play.json"
        try RawFile.write(JSONSerialization.data(withJSONObject: [play]), to: file)
        let run = try Programs.run(
            "/usr/bin/env", ["python3", "-m", "ansible", "playbook", file],
            environment: agent.place.environment.merging(environment(home: agent.place.root)) { $1 })
        let outcomes = run.output.split(separator: "\n").compactMap { line in
            line.firstRange(of: ": [localhost]").flatMap { Outcome(rawValue: String(line[..<$0.lowerBound])) }
        }
        #expect(outcomes.count == tasks.count, "\(run.output)\(run.errors)")
        for (task, outcome) in zip(tasks, outcomes) {
            #expect(outcome == task.outcome, "\(task.arguments), check mode \(task.checks): \(run.output)")
        }
    }

    @Test(
        "Ansible writes, changes, appends to and deletes keys once each, and none of that in check mode",
        .enabled(if: isThere, "Run .ci/ansible to install Ansible."))
    func tasks() throws {
        try AgentProcess.withAgent { agent in
            let file = agent.place.root + "/other.plist"
            let values: [(type: String, value: Any, other: Any)] = [
                ("bool", true, "no"), ("int", 5, -7), ("float", 1.5, 0.1),
                ("string", "Centimeters", "-a \"b\" (c) é\\n"),
                ("date", "2019-02-19 10:10:10", "2026-01-01 00:00:00"), ("array", ["a", "x y"], ["1"]),
            ]
            var tasks: [Task] = []
            for (type, value, other) in values {
                tasks += [
                    Self.changes(Self.set(type, type, value)), Self.keeps(Self.set(type, type, value)),
                    Self.changes(Self.set(type, type, other)),
                ]
            }
            let added = Self.set("array", "array", ["b c"], ["array_add": true])
            let absent: [String: Any] = ["domain": "org.example.app", "key": "int", "state": "absent"]
            tasks += [
                Self.changes(added), Self.keeps(added), (Self.set("int", "string", "text"), .fatal, false),
                Self.changes(Self.set("int", "int", 8), checks: true), Self.changes(absent, checks: true),
                Self.keeps(Self.set("int", "int", -7)), Self.changes(absent),
                Self.keeps(absent), Self.changes(Self.set("Units", "string", "Inches", in: nil)),
                Self.changes(Self.set("k", "int", 1, ["host": "HOST"])),
                Self.keeps(Self.set("k", "int", 1, ["host": "HOST"])), Self.changes(Self.set("k", "int", 1, in: file)),
                Self.keeps(Self.set("k", "int", 1, in: file)),
            ]
            try Self.play(tasks, agent)

            func read(_ path: String) throws -> PropertyListValue { try PropertyListValue(parsing: RawFile.read(path)) }
            #expect(
                try read(agent.place.path("org.example.app")) == [
                    "bool": false, "float": 0.1, "string": "-a \"b\" (c) é\\n", "array": ["1", "b c"],
                    "date": .date(PropertyListDate(secondsSinceReferenceDate: 788_918_400)),
                ])
            #expect(try read(agent.place.path(".GlobalPreferences")) == ["Units": "Inches"])
            #expect(try read(agent.place.path("ByHost/org.example.app.HOST")) == ["k": 1])
            #expect(try read(file) == ["k": 1])
        }
    }
}
