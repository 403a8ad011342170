import DefaultsCore
import Foundation
import Glibc
import PropertyList
import TestSupport
import Testing

/// `defaults` does the same, byte for byte, through the agent and on the files alone.
@Suite("The command, with an agent and without")
struct CommandTests {
    /// Commands that run one after the other, and what the last one does.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        var commands: [[String]]
        var status: Int32 = 0
        var output = ""
        /// What the one line on standard error contains; `nil` for no line.
        var complaint: String?

        /// Writes a value in some way, and reads it back.
        static func value(_ arguments: [String], _ output: String) -> Case {
            Case(
                testDescription: "write a.b k \(arguments.joined(separator: " "))",
                commands: [["write", "a.b", "k"] + arguments, ["read", "a.b", "k"]], output: output + "\n")
        }

        /// Runs commands, the last of which fails.
        static func failure(_ commands: [String]..., status: Int32, _ complaint: String) -> Case {
            Case(
                testDescription: commands.last?.joined(separator: " ") ?? "", commands: commands, status: status,
                complaint: complaint)
        }

        /// Runs commands, the last of which prints something.
        static func output(_ commands: [String]..., output: String) -> Case {
            Case(
                testDescription: commands.last?.joined(separator: " ") ?? "", commands: commands, output: output + "\n")
        }
    }

    static let values: [Case] = [
        .value(["text"], "text"), .value(["two words"], "two words"), .value([""], ""), .value(["-5"], "-5"),
        .value(["-string", "(a)"], "(a)"), .value(["-string", "-int"], "-int"), .value(["-g"], "-g"),
        .value(["Apple Global Domain"], "Apple Global Domain"), .value(["-globalDomain"], "-globalDomain"),
        .value(["-string", "Apple Global Domain"], "Apple Global Domain"), .value(["-string", "-g"], "-g"),
        .value(["-array", "-g", "Apple Global Domain"], "(\n    \"-g\",\n    \"Apple Global Domain\"\n)"),
        .value(["--json"], "--json"), .value(["é ß 漢 🎉"], "é ß 漢 🎉"), .value(["\"quoted\""], "quoted"),
        .value(["-int", "5"], "5"), .value(["-integer", "-9223372036854775808"], "-9223372036854775808"),
        .value(["-int", "18446744073709551615"], "18446744073709551615"),
        .value(["-float", "1.5"], "1.5"), .value(["-float", "0.1"], "0.1"), .value(["-float", "nan"], "nan"),
        .value(["-float", "-inf"], "-inf"), .value(["-float", "1e-300"], "1e-300"),
        .value(["-bool", "YES"], "1"), .value(["-boolean", "false"], "0"), .value(["-bool", "1"], "1"),
        .value(["-date", "2020-01-02 03:04:05 +0100"], "2020-01-02 02:04:05 +0000"),
        .value(["-data", "0a0bff0a01"], "<0a0bff0a 01>"), .value(["-data", ""], "<>"),
        .value(["-array"], "(\n)"), .value(["-dict"], "{\n}"),
        .value(
            ["-array", "a", "-int", "1", "(b, c)"], "(\n    a,\n    1,\n        (\n        b,\n        c\n    )\n)"),
        .value(["-dict", "k", "v", "n", "-int", "1"], "{\n    k = v;\n    n = 1;\n}"),
        .value(["{a = (1, 2);}"], "{\n    a =     (\n        1,\n        2\n    );\n}"),
        .value(["<plist><integer>7</integer></plist>"], "7"),
    ]

    static let verbs: [Case] = [
        .output(["write", "a.b", "k", "-int", "1"], ["read", "a.b"], output: "{\n    k = 1;\n}"),
        .output(["write", "a.b", "{x = 1; y = 2;}"], ["read", "a.b"], output: "{\n    x = 1;\n    y = 2;\n}"),
        .output(
            ["write", "a.b", "k", "v"], ["write", "a.b", "{x = 1;}"], ["read", "a.b"], output: "{\n    x = 1;\n}"),
        .output(["write", "a.b", "k", "-float", "3"], ["read", "--json", "a.b"], output: #"{"k":3.0}"#),
        .output(["write", "a.b", "k", "-data", "ff"], ["read", "a.b", "k", "--json"], output: #"{"$data":"/w=="}"#),
        .output(
            ["write", "a.b", "k", "-date", "2020-01-02 03:04:05 +0100"], ["read", "--json", "a.b", "k"],
            output: #"{"$date":"2020-01-02T02:04:05Z"}"#),
        .output(["write", "c.d", "k", "v"], ["write", "a.b", "k", "v"], ["domains"], output: "a.b, c.d"),
        .output(["domains"], output: ""),
        .output(["read"], output: "{\n}"),
        .output(["write", "a.b", "k", "v"], ["read"], output: "{\n    \"a.b\" =     {\n        k = v;\n    };\n}"),
        .output(["write", "-g", "k", "-g"], ["read", "-g", "k"], output: "-g"),
        .output(["write", "-globalDomain", "k", "v"], ["read", "NSGlobalDomain", "k"], output: "v"),
        .output(["write", "Apple Global Domain", "k", "v"], ["read", "-g", "k"], output: "v"),
        .output(["write", "-g", "k", "v"], ["domains"], output: ""),
        .output(["-host", "HOST", "write", "a.b", "k", "v"], ["read", "-host", "HOST", "a.b", "k"], output: "v"),
        .output(["write", "-host", "HOST", "a.b", "k", "v"], ["-host", "HOST", "read", "a.b", "k"], output: "v"),
        .output(
            ["write", "-host", "HOST", "a.b", "-g", "Apple Global Domain"], ["-host", "HOST", "read", "--json", "a.b"],
            output: #"{"-g":"Apple Global Domain"}"#),
        .output(
            ["write", "a.b", "k", "-array", "1"], ["write", "a.b", "-key", "-value"], ["read", "a.b", "--", "-key"],
            output: "-value"),
        .output(
            ["write", "a.b", "{a = 1; b = 2;}"], ["delete", "a.b", "a"], ["read", "a.b"], output: "{\n    b = 2;\n}"),
        .output(["write", "a.b", "k", "v"], ["remove", "a.b", "k"], ["domains"], output: ""),
        .output(["write", "a.b", "k", "v"], ["delete", "a.b"], ["domains"], output: ""),
    ]

    static let failures: [Case] = [
        .failure(["read", "nope"], status: 1, "The domain nope does not exist."),
        .failure(
            ["write", "a.b", "k", "v"], ["read", "a.b", "other"], status: 1, "The domain a.b has no key \"other\"."),
        .failure(["delete", "nope"], status: 1, "does not exist; nothing is deleted."),
        .failure(["write", "a.b", "k", "v"], ["delete", "a.b", "other"], status: 1, "nothing is deleted."),
        .failure(["write", "a.b", "k", "v"], ["read", "-host", "HOST", "a.b"], status: 1, "does not exist"),
        .failure(["read", "../x"], status: 64, "a name has no \"/\""),
        .failure(["write", "/etc/x", "k", "v"], status: 64, "a name has no \"/\""),
        .failure(["read", ".x"], status: 64, "doesn't begin with \".\""),
        .failure(["read", ""], status: 64, "at least one character"),
        .failure(["delete", String(repeating: "x", count: 201)], status: 64, "at most 200 bytes"),
        .failure(["read", "-host", "../x", "a.b"], status: 64, "A host's identifier"),
        .failure(["write", "a.b"], status: 64, "Name a key and a value"),
        .failure(["write", "a.b", "k"], status: 64, "alone is no dictionary"),
        .failure(["write", "a.b", "k", "v", "w"], status: 64, "one argument too many"),
        .failure(["write", "a.b", "k", "-int", "x"], status: 64, "\"x\" is no value for -int"),
        .failure(["write", "a.b", "k", "-int"], status: 64, "-int needs a value"),
        .failure(["write", "a.b", "k", "-bool", "maybe"], status: 64, "\"maybe\" is no value for -bool"),
        .failure(["write", "a.b", "k", "-data", "0g"], status: 64, "no value for -data"),
        .failure(["write", "a.b", "k", "-data", "0"], status: 64, "no value for -data"),
        .failure(["write", "a.b", "k", "-date", "soon"], status: 64, "no value for -date"),
        .failure(["write", "a.b", "k", "-dict", "a"], status: 64, "The key \"a\" lacks a value"),
        .failure(["write", "a.b", "k", "-array", "-dict"], status: 64, "written as a property list"),
        .failure(["write", "a.b", "k", "(a"], status: 65, "write -string before it"),
        .failure(["write", "a.b", "k", "smile :)"], status: 65, "write -string before it"),
        .failure(["write", "a.b", "k", "<plist><dict>"], status: 65, "line 1"),
    ]

    @Test("A case does the same with an agent and without one", arguments: values + verbs + failures)
    func same(_ testCase: Case) throws {
        let with = try AgentProcess.withAgent { try run(testCase, $0.place, $0.place.environment) }
        let without = try AgentProcess.withPlace {
            // No agent is asked for: so none is missed.
            try run(testCase, $0, $0.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
        }
        for outcome in [with, without] {
            #expect(outcome.status == testCase.status, "\(outcome.errors)")
            #expect(outcome.output == testCase.output)
            if let complaint = testCase.complaint {
                #expect(outcome.errors.contains(complaint), "\(outcome.errors)")
                #expect(outcome.errors.hasPrefix("defaults: "))
                #expect(outcome.errors.split(separator: "\n").count == 1)
            } else {
                #expect(outcome.errors == "")
            }
        }
        #expect(with.errors == without.errors)
        #expect(with.files == without.files)
    }

    private struct Result {
        var status: Int32 = 0
        var output = ""
        var errors = ""
        /// The files by name, and what they hold.
        var files: [String: [UInt8]] = [:]
    }

    private func run(
        _ testCase: Case, _ place: AgentProcess.Place, _ environment: [String: String]
    ) throws -> Result {
        var result = Result()
        for (index, command) in testCase.commands.enumerated() {
            let outcome = try Programs.run(Programs.defaults, command, environment: environment)
            result.status = outcome.status
            result.output = outcome.output
            result.errors = outcome.errors.replacingOccurrences(of: place.preferences, with: "<place>")
            if index < testCase.commands.count - 1 { #expect(outcome.status == 0, "\(command): \(outcome.errors)") }
        }
        for name in namesOfFiles(in: place.preferences)
            + namesOfFiles(in: place.preferences + "/ByHost").map({ "ByHost/\($0)" })
        where name != "ByHost" {
            result.files[name] = try RawFile.read("\(place.preferences)/\(name)")
        }
        return result
    }

    @Test("-currentHost is this machine's file", .enabled(if: HostIdentifier.current() != nil))
    func currentHost() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("-currentHost", "write", "a.b", "k", "here")
            try agent.defaults("write", "a.b", "k", "anywhere")
            let host = try #require(HostIdentifier.current())
            #expect(RawFile.exists("\(agent.place.preferences)/ByHost/a.b.\(host).plist"))
            #expect(try agent.defaults("read", "-currentHost", "a.b", "k").output == "here\n")
            #expect(try agent.defaults("-currentHost", "read", "a.b", "k").output == "here\n")
            #expect(try agent.defaults("read", "a.b", "k").output == "anywhere\n")
            #expect(try agent.defaults("domains").output == "a.b\n")
        }
    }

    @Test("Usage that is wrong is told, with status 64, and help with 0")
    func usage() throws {
        for arguments in [
            ["read", "a", "b", "c"], ["write"], ["delete"], ["read", "--what"], ["tail", "-x"],
        ] {
            let outcome = try Programs.run(Programs.defaults, arguments)
            #expect(outcome.status == 64 && outcome.output == "")
            #expect(outcome.errors.hasPrefix("Error: "))
        }
        for arguments in [
            ["help"], ["--help"], ["read", "--help"], ["help", "write"], ["write", "--help"], ["--version"],
        ] {
            let outcome = try Programs.run(Programs.defaults, arguments)
            #expect(outcome.status == 0 && outcome.output != "" && outcome.errors == "")
        }
    }

    @Test("A socket that was named and doesn't answer is told of, and so is a directory that isn't there")
    func noAgent() throws {
        try AgentProcess.withPlace { place in
            for arguments in [["read", "a.b"], ["write", "a.b", "k", "v"], ["delete", "a.b"], ["domains"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: place.environment)
                #expect(outcome.status == 69)
                #expect(outcome.errors.hasPrefix("defaults: No agent answers at \(place.socket)"))
                let missing = place.runtime + "/missing"
                let other = try Programs.run(
                    Programs.defaults, ["--directory", missing] + arguments,
                    environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
                #expect(other.status == 74)
                #expect(other.errors.contains("The preferences directory \(missing) can't be used: No such file"))
                #expect(!RawFile.exists(missing))
            }
            #expect(namesOfFiles(in: place.preferences) == [])
        }
    }

    @Test("An agent that keeps another directory is told of, not written to")
    func otherDirectory() throws {
        try AgentProcess.withAgent { agent in
            let outcome = try agent.defaults("--directory", agent.place.runtime, "write", "a.b", "k", "v")
            #expect(outcome.status == 75)
            #expect(outcome.errors.contains("keeps \(agent.place.preferences), not \(agent.place.runtime)"))
            #expect(try agent.defaults("domains").output == "\n")
        }
    }

    @Test("What write has acknowledged is in the file, whatever happens to the agent then")
    func durable() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write(
                "<plist><dict><key>PublishDelay</key><integer>60000</integer></dict></plist>",
                to: place.path(AgentSettings.domainName))
            for number in 1...5 {
                let agent = try AgentProcess(place)
                let outcome = try agent.defaults("write", "a.b", "number", "-int", "\(number)")
                agent.kill()
                #expect(outcome.status == 0)
                let content = try PropertyListValue(parsing: RawFile.read(place.path("a.b")))
                #expect(content == ["number": .integer(Int64(number))])
            }
        }
    }

    @Test("Commands at once lose nothing, with an agent and without", arguments: [true, false])
    func atOnce(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            let commands = try (1...12).map { number in
                try RunningProgram(
                    Programs.defaults, ["write", "a.b", "key\(number)", "v"], environment: environment)
            }
            for command in commands {
                #expect(command.status(within: 60) == 0)
                #expect(command.complaints() == "")
            }
            let content = try Fields(PropertyListValue(parsing: RawFile.read(place.path("a.b"))), of: "The file")
            #expect(content.values.count == 12)
        }
    }

    @Test(
        "What is written just after the file was removed is kept, with an agent and without", arguments: [true, false])
    func afterRemoval(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            for value in ["old", "new"] {
                let outcome = try Programs.run(
                    Programs.defaults, ["write", "a.b", "k", value], environment: environment)
                #expect(outcome.status == 0)
                if value == "old" { unlink(place.path("a.b")) }
            }
            let reading = try Programs.run(Programs.defaults, ["read", "a.b", "k"], environment: environment)
            #expect(reading.output == "new\n")
        }
    }
}
