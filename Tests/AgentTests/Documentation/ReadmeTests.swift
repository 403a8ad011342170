import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The README's examples and commands, compared with the real programs.
@Suite("The README")
struct ReadmeTests {
    private let text: String

    init() throws {
        text = try Repository.text("README.md")
    }

    /// Returns the lines of each code block that opens with the given fence, in one section or in all.
    private func blocks(_ fence: String, in section: String? = nil) -> [[String]] {
        var blocks: [[String]] = []
        var begunBy: String?
        var heading = ""
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("## "), begunBy == nil { heading = String(line.dropFirst(3)) }
            guard section == nil || section == heading else { continue }
            if line.hasPrefix("```") {
                begunBy = begunBy == nil ? line : nil
                if begunBy == fence { blocks.append([]) }
            } else if begunBy == fence {
                blocks[blocks.count - 1].append(line)
            }
        }
        return blocks
    }

    /// Returns a line with placeholders for its time and process ID.
    private static func shape(_ line: String) -> String {
        line.replacing(#/\d\d:\d\d:\d\d\.\d\d\d/#, with: "TIME").replacing(#/pid \d+/#, with: "pid N")
    }

    @Test("The README's Swift example is a program of the package, and prints changes")
    func example() throws {
        let source = try Repository.text("Tests/ReadmeExample/main.swift")
        #expect(blocks("```swift").map { $0.joined(separator: "\n") + "\n" } == [source])
        try AgentProcess.withAgent { agent in
            let program = try RunningProgram(
                "/usr/bin/stdbuf", ["-oL", Programs.readmeExample], environment: agent.place.environment)
            #expect(program.line() == "fontSize is 14")
            try agent.defaults("write", "ReadmeExample", "fontSize", "-int", "9")
            #expect(program.line() == "fontSize is 9")
        }
    }

    /// Runs a test with the commands of the section "Try it" that change a preference, while `defaults tail` runs.
    ///
    /// The function that the test gets runs a command and returns the line that `tail` prints.
    private func tryOut(
        _ body: (_ commands: [String], _ home: String, _ run: (String) throws -> String) throws -> Void
    ) throws {
        let commands = blocks("```console", in: "Try it").joined().filter { $0.hasPrefix("$ ") }
            .map { String($0.dropFirst(2)) }
        // CI tests the other parts of the first two commands.
        try #require(commands.count > 2)
        #expect(commands[0].hasPrefix("sudo apt-get install "))
        #expect(commands[1] == "swift build --product defaultsd && swift run defaults tail")
        try withTemporaryDirectory { home in
            try RawFile.makeDirectory(home + "/.config")
            let environment = [
                "HOME": home, "XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": home, "DEFAULTS_DIRECTORY": "",
                "DEFAULTSD_SOCKET": "", "CLICOLOR_FORCE": "", "DEFAULTS_SYSTEM_DIRECTORIES": home + "/system",
                "DEFAULTS_MANAGED_DIRECTORY": home + "/managed",
            ]
            let tail = try RunningProgram(Programs.defaults, ["tail"], environment: environment)
            let isFollowing = try eventually(within: 30) {
                try Programs.run(Programs.defaults, ["status"], environment: environment).output
                    .contains(": all domains; 0 behind")
            }
            #expect(isFollowing)
            try body(Array(commands.dropFirst(2)), home) { command in
                let script = command.replacingOccurrences(of: "swift run defaults", with: "'\(Programs.defaults)'")
                let outcome = try Programs.shell(script, in: home, environment: environment)
                #expect(outcome.status == 0 && outcome.output == "", "\(command): \(outcome.errors)")
                return try #require(tail.line())
            }
            tail.signal(SIGINT)
            #expect(tail.status() == 130)
            #expect(tail.complaints() == "")
            // The agent that it has started ends, too, and must do so before its directories are removed.
            #expect(eventually { !RawFile.exists(home + "/defaultsd/socket") })
        }
    }

    @Test("The README's recording is what its commands show")
    func recording() throws {
        let recording = try #require(blocks("```").first { $0.first?.contains(" → ") == true })
        try tryOut { commands, _, run in
            #expect(commands.count == recording.count)
            for (command, expected) in zip(commands, recording) {
                let line = try run(command)
                #expect(Self.shape(line) == Self.shape(expected))
            }
        }
    }

    @Test("The README's edit with sed stands, however often its commands are repeated")
    func repeated() throws {
        try tryOut { commands, home, run in
            for round in 0..<3 {
                let written = try run(commands[0])
                #expect(written.contains(round == 0 ? "(none) → 12" : "14 → 12"), "\(written)")
                let edited = try run(commands[1])
                #expect(edited.contains("12 → 14"), "\(edited)")
                let file = try RawFile.read(home + "/.config/org.example.editor.plist")
                #expect(try PropertyListValue(parsing: file) == ["fontSize": 14], "round \(round)")
            }
        }
    }

    @Test("The README's test command shows the failed tests last and keeps the exit status", arguments: [0, 1])
    func testCommand(status: Int32) throws {
        let commands = blocks("```console", in: "Contributing").joined().filter { $0.hasPrefix("$ sudo apt-get ") }
        let command = try #require(commands.first?.components(separatedBy: " && ").last)
        try withTemporaryDirectory { directory in
            let failures = ["✘ Test \"A\" recorded an issue: 1 == 2", "↳ one is not two", "✘ Test \"A\" failed"]
            let closing = "\(status == 0 ? "✔" : "✘") Test run with 2 tests ended"
            // Replaces the real `swift`, which would run this very test.
            let swift = """
                #!/bin/sh
                cat <<END
                arguments: $*
                \((status == 0 ? [] : failures).joined(separator: "\n"))
                END
                seq 1000
                echo '\(closing)'
                exit \(status)
                """
            try RawFile.write(swift, to: directory + "/swift")
            chmod(directory + "/swift", 0o700)
            let path = "\(directory):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
            let outcome = try Programs.shell(
                "\(command) --filter A", in: Repository.path, environment: ["PATH": path])
            #expect(outcome.status == status, "\(outcome.errors)")
            let lines = outcome.output.split(separator: "\n").map(String.init)
            #expect(lines.first == "arguments: test --experimental-maximum-parallelization-width 4 --filter A")
            let last = status == 0 ? ["1000", closing] : failures + [closing]
            #expect(Array(lines.suffix(last.count)) == last)
        }
    }

    @Test("Every option that the README names exists")
    func options() throws {
        for row in text.components(separatedBy: "\n") where row.hasPrefix("| `defaults") {
            let words = row.matches(of: #/`([^`]+)`/#).map { String($0.output.1) }
            let command = try #require(words.first)
            let (program, verb) =
                command.hasPrefix("defaultsd")
                ? (Programs.defaultsd, []) : (Programs.defaults, [String(command.split(separator: " ")[1])])
            let help = try Programs.run(program, verb + ["--help"]).output
            for option in words.dropFirst() where option.hasPrefix("-") {
                let name = String(option.split(separator: " ")[0])
                #expect(help.contains(name), "\(command) \(option)")
            }
        }
    }
}
