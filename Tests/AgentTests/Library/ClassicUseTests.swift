import ProgramSupport
import TestSupport
import Testing

@Suite("A program written for Foundation's UserDefaults")
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

    /// Our results where Foundation's class on Linux has bugs.
    private let mended = [
        "after addSuite": "from a suite", "representation of an argument": "given", "registration": "2",
        "replaced": #"["b: 2"]"#, "no domain": "nil", "domain": #"["a: 1", "b: 2"]"#, "domain replaced": #"["c: 3"]"#,
        "web": "http://example.com/a?b",
    ]

    /// Our results that differ on purpose, as the article "Replace Foundation's UserDefaults" documents.
    private let different = [
        "description's name": "true", "text of 1.0": "1", "text of 1000000000000000.0": "1000000000000000",
        "text of 1e+16": "10000000000000000", "argument white": "[  7 ]", "argument -long": "nil",
        "argument negative": "[-5]", "argument after": "nil",
    ]

    @Test("Our class behaves like Foundation's, except for its bugs and the documented differences")
    func sideBySide() throws {
        let theirs = try AgentProcess.withPlace { try run("ClassicUseOfFoundation", $0) }
        let ours = try AgentProcess.withPlace { try run("ClassicUse", $0) }
        #expect(ours.count > 140)
        #expect(ours == theirs.merging(mended) { $1 }.merging(different) { $1 })
        // A difference that disappears must be removed from the article as well.
        for key in different.keys { #expect(ours[key] != theirs[key], "\(key)") }
    }

    @Test("Our class behaves the same with an agent as without one")
    func withAgent() throws {
        let alone = try AgentProcess.withPlace { try run("ClassicUse", $0, "nil") }
        let served = try AgentProcess.withAgent { try run("ClassicUse", $0.place, "nil") }
        #expect(served == alone)
    }

    @Test("Our class accepts nil in every overload of set, where Foundation's class hangs")
    func settingNil() throws {
        let found = try AgentProcess.withPlace { try run("ClassicUse", $0, "nil") }
        for way in ["nil", "nil string", "nil url", "nil any"] { #expect(found["removed by \(way)"] == "nil") }
    }
}
