import ProgramSupport
import TestSupport
import Testing

@Suite("A program of before")
struct ClassicUseTests {
    private func run(_ program: String, _ place: AgentProcess.Place, _ last: String...) throws -> [String: String] {
        let arguments =
            [
                "org.example.classic", "-argument", "given", "-any", "over", "-white", "  7 ", "--long", "x",
                "-negative", "-5", "-fragment", "<integer>5</integer>", "--", "-after", "1",
            ] + last
        let outcome = try Programs.run("\(Programs.directory)/\(program)", arguments, environment: place.environment)
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        var found: [String: String] = [:]
        for line in outcome.output.split(separator: "\n") {
            guard let equals = line.firstRange(of: " = ") else { continue }
            found[String(line[..<equals.lowerBound])] = String(line[equals.upperBound...])
        }
        return found
    }

    /// What Foundation's class on Linux gets wrong, as it is with ours.
    private let mended = [
        "after addSuite": "from a suite", "representation of an argument": "given", "registration": "2",
        "replaced": #"["b: 2"]"#, "no domain": "nil", "domain": #"["a: 1", "b: 2"]"#, "domain replaced": #"["c: 3"]"#,
        "web": "http://example.com/a?b",
    ]

    /// What is different on purpose, as "Replace Foundation" says.
    private let different = [
        "description's name": "true", "text of 1.0": "1", "text of 1000000000000000.0": "1000000000000000",
        "text of 1e+16": "10000000000000000", "argument white": "[  7 ]", "argument -long": "nil",
        "argument negative": "[-5]", "argument after": "nil",
    ]

    @Test("Our class finds what Foundation's finds, except for its bugs and the documented differences")
    func sideBySide() throws {
        let theirs = try AgentProcess.withPlace { try run("ClassicUseOfFoundation", $0) }
        let ours = try AgentProcess.withPlace { try run("ClassicUse", $0) }
        #expect(ours.count > 140)
        #expect(ours == theirs.merging(mended) { $1 }.merging(different) { $1 })
        // A row that no longer differs is to leave the guide as well.
        for key in different.keys { #expect(ours[key] != theirs[key], "\(key)") }
    }

    @Test("finds the same where an agent runs")
    func withAgent() throws {
        let alone = try AgentProcess.withPlace { try run("ClassicUse", $0, "nil") }
        let served = try AgentProcess.withAgent { try run("ClassicUse", $0.place, "nil") }
        #expect(served == alone)
    }

    @Test("may set nil in every way, where Foundation's class hangs")
    func settingNil() throws {
        let found = try AgentProcess.withPlace { try run("ClassicUse", $0, "nil") }
        for way in ["nil", "nil string", "nil url", "nil any"] { #expect(found["removed by \(way)"] == "nil") }
    }
}
