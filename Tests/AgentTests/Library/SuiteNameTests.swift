import DefaultsCore
import ProgramSupport
import TestSupport
import Testing

/// A program and the command, with or without an agent, on a suite that is named like a test's source file.
@Suite("Suites named by a path", .timeLimit(.minutes(2)))
struct SuiteNameTests {
    private func check(
        _ name: String, shown: String? = nil, _ place: AgentProcess.Place, isServed: Bool
    ) throws {
        let environment = place.environment.merging(isServed ? [:] : ["DEFAULTS_NO_AGENT": "1"]) { $1 }
        let write = try Programs.run("\(Programs.directory)/LiveWriter", [name, "key", "2"], environment: environment)
        #expect(write.status == 0)
        #expect(write.errors == "")
        for argument in [name, shown ?? name] {
            let read = try Programs.run(Programs.defaults, ["read", argument, "key1"], environment: environment)
            #expect(read.output == "(\n    1\n)\n", "\(argument): \(read.errors)")
        }
        let domains = try Programs.run(Programs.defaults, ["domains"], environment: environment)
        #expect(domains.output.contains(shown ?? "nothing") == (shown != nil))
        let change = try Programs.run(
            Programs.defaults, ["write", name, "key1", "-int", "5"], environment: environment)
        #expect(change.status == 0, "\(change.errors)")
        let read = try Programs.run(Programs.defaults, ["read", shown ?? name, "key1"], environment: environment)
        #expect(read.output == "5\n")
    }

    static let escaped = [
        ("MyTests/FileTests.swift", "MyTests%2FFileTests.swift"), (".hidden", "%2Ehidden"),
        (String(repeating: "x", count: 201), DomainName(escaping: String(repeating: "x", count: 201)).description),
    ]

    @Test("Without an agent, the command reads and writes a program's suite of any name", arguments: escaped)
    func alone(name: String, shown: String) throws {
        try AgentProcess.withPlace { place in
            try check(name, shown: shown, place, isServed: false)
        }
    }

    @Test("With an agent, the command reads and writes a program's suite of any name", arguments: escaped)
    func served(name: String, shown: String) throws {
        try AgentProcess.withAgent { agent in
            try check(name, shown: shown, agent.place, isServed: true)
        }
    }

    @Test("The command reads and writes a suite named by an absolute path, which is kept at that path")
    func path() throws {
        try withTemporaryDirectory { directory in
            try AgentProcess.withPlace { place in try check(directory + "/FileTests.swift", place, isServed: false) }
            try AgentProcess.withAgent { agent in try check(directory + "/Other.swift", agent.place, isServed: true) }
            #expect(RawFile.exists(directory + "/FileTests.swift.plist"))
        }
    }
}
