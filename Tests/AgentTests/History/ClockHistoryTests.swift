import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("A history during which the clock was set back")
struct ClockHistoryTests {
    /// Runs a test with an agent whose history has four changes; the third one has an earlier time than the second.
    private static func withHistory(_ body: (AgentProcess) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            let domain = try Domain(DomainName("org.a"))
            let names = ["one", "two", "three", "four"]
            let file = Array("{ four = 1; one = 1; three = 1; two = 1; }".utf8)
            try RawFile.write(file, to: place.path("org.a"))
            var log = ChangeLog()
            let now = Timestamp.now().nanoseconds
            for (name, minutes) in zip(names, [180, 10, 120, 5] as [Int64]) {
                let changeSet = ChangeSet(
                    domain: domain, source: .file, changes: [KeyChange(key: name, old: nil, new: "1")])
                log.append(.change(changeSet), at: Timestamp(nanoseconds: now - minutes * 60_000_000_000))
            }
            let path = try place.log()
            try Programs.shell("mkdir -p '\(Path.directory(of: path))'", in: place.root)
            let mark = FileMark(domain: domain, hash: ContentHash(file), revision: log.head)
            let contents = ChangeLogFile.Contents(of: log, marks: [.mark(mark)], sizeLimit: 1 << 20)
            try ChangeLogFile(drafting: contents, for: path).replaceOld()
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try body(agent)
        }
    }

    private static func lines(_ agent: AgentProcess, _ arguments: String...) throws -> [String] {
        let outcome = try agent.run(arguments)
        #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test("`log --since` shows every change after a time, and with a number every later one")
    func log() throws {
        try Self.withHistory { agent in
            let later = try Self.lines(agent, "log", "--since", "1h")
            #expect(later.map { $0.prefix(2) } == ["4 ", "2 "], "\(later)")
            let latest = try Self.lines(agent, "log", "--since", "1h", "-n", "1")
            #expect(latest.map { $0.prefix(2) } == ["4 "])
            let numbered = try Self.lines(agent, "log", "--since", "2")
            #expect(numbered.map { $0.prefix(2) } == ["4 ", "3 "])
            let earlier = try Self.lines(agent, "log", "--since", "2h 30min", "--until", "1 hour ago")
            #expect(earlier.map { $0.prefix(2) } == ["3 "])
            let between = try Self.lines(agent, "log", "--since", "1", "--until", "3")
            #expect(between.map { $0.prefix(2) } == ["3 ", "2 "])
        }
    }

    @Test("`tail --since` shows every change after a time, `record --since` makes a profile of them")
    func tail() throws {
        try Self.withHistory { agent in
            let lines = try Self.lines(agent, "tail", "--since", "1h", "--timeout", "0.2")
            #expect(lines.map { $0.split(separator: " ")[2] } == ["two", "three", "four"])
            let commands = try Self.lines(agent, "record", "--since", "1h", "--commands")
            #expect(commands == ["defaults write org.a four -string 1", "defaults write org.a two -string 1"])
            let until = try Self.lines(agent, "record", "--since", "1", "--until", "3", "--commands")
            #expect(until == ["defaults write org.a three -string 1", "defaults write org.a two -string 1"])
        }
    }

    @Test("`undo --since` reverses every change after a time, and leaves the others")
    func undo() throws {
        try Self.withHistory { agent in
            let changes = try Self.lines(agent, "undo", "--since", "1h")
            #expect(changes.map { $0.split(separator: " ")[1] } == ["four", "two"])
            #expect(try agent.defaults("read", "org.a").output == "{\n    one = 1;\n    three = 1;\n}\n")
        }
        try Self.withHistory { agent in
            let changes = try Self.lines(agent, "undo", "--since", "1", "--until", "3")
            #expect(changes.map { $0.split(separator: " ")[1] } == ["three", "two"])
            #expect(try Self.lines(agent, "undo", "--until", "3").map { $0.split(separator: " ")[1] } == ["one"])
        }
    }

    @Test("`read --at` shows the values after the newest change that isn't later than the time")
    func read() throws {
        try Self.withHistory { agent in
            let values = try agent.defaults("read", "org.a", "--at", "1h").output
            #expect(values == "{\n    one = 1;\n    three = 1;\n    two = 1;\n}\n")
            #expect(try agent.defaults("diff", "org.a", "--since", "1h").output == "four  (none) → \"1\"\n")
            let between = try agent.defaults("diff", "org.a", "--since", "1", "--until", "2").output
            #expect(between == "two  (none) → \"1\"\n")
        }
    }
}
