import DefaultsCore
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Values that come out of the command as they went in, whatever they hold and whatever verbs they pass.
@Suite("Round trips through the command")
struct CommandRoundTripTests {
    /// A runner of the command in one place and environment.
    private struct Run {
        let place: AgentProcess.Place
        let environment: [String: String]

        func callAsFunction(_ arguments: String...) throws -> String {
            let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
            #expect(outcome.status == 0 && outcome.errors == "", "\(arguments.prefix(4)): \(outcome.errors)")
            return outcome.output
        }

        /// Imports values into a domain from a file in a format.
        func load(_ values: DomainValues, as format: PropertyListFormat, into domain: String) throws {
            let path = place.runtime + "/in"
            try RawFile.write(PropertyListValue.dictionary(values).write(as: format), to: path)
            _ = try self("import", domain, path)
        }
    }

    private func run(withAgent hasAgent: Bool, _ body: (Run) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            try body(
                Run(
                    place: place,
                    environment: place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }))
        }
    }

    @Test("Text is written and read back unchanged, as a value and as a key", arguments: [true, false])
    func strings(_ hasAgent: Bool) throws {
        try run(withAgent: hasAgent) { run in
            var expected: DomainValues = [:]
            // An argument can't contain NUL.
            for text in HostileValues.strings + HostileValues.controls where !text.utf8.contains(0) {
                let key = text.map { $0 == "\\" || $0 == "." ? "\\\($0)" : "\($0)" }.joined()
                _ = try run("write", "a.b", "--", key, "-string", text)
                #expect(try run("read", "a.b", "--", key) == text + "\n")
                expected[text] = .string(text)
            }
            #expect(try PropertyListValue(parsing: RawFile.read(run.place.path("a.b"))) == .dictionary(expected))
            #expect(try PropertyListValue(parsing: Array(run("read", "a.b").utf8)) == .dictionary(expected))
        }
    }

    @Test(
        "Values of every type are imported, exported and read without loss",
        arguments: [true, false], [PropertyListFormat.xml, .binary, .oldStyle])
    func values(_ hasAgent: Bool, _ format: PropertyListFormat) throws {
        try run(withAgent: hasAgent) { run in
            let hasControls = format != .xml
            let original = HostileValues.domain(withControls: hasControls)
            let value = PropertyListValue.dictionary(original).asStored(in: format)
            try run.load(original, as: format, into: "a.b")
            let path = run.place.runtime + "/out"
            #expect(try run("export", "a.b", path) == "")
            #expect(try PropertyListValue(parsing: RawFile.read(path)) == value)
            let text = Array(try run("read", "a.b").utf8)
            #expect(try PropertyListValue(parsing: text) == value.asStored(in: .oldStyle))
            if !hasControls {
                #expect(try PropertyListValue(parsing: Array(run("export", "a.b", "-").utf8)) == value)
                #expect(try PropertyListValue(parsing: Array(run("read", "--plist", "xml", "a.b").utf8)) == value)
            }
            // Through another domain, and through a file outside the preferences.
            for domain in ["c.d", run.place.runtime + "/e"] {
                _ = try run("import", domain, path)
                #expect(try Array(run("read", domain).utf8) == text)
                _ = try run("export", domain, path)
                #expect(try PropertyListValue(parsing: RawFile.read(path)) == value)
            }
        }
    }

    @Test("`write` accepts what `read` prints", arguments: [true, false])
    func text(_ hasAgent: Bool) throws {
        try run(withAgent: hasAgent) { run in
            try run.load(HostileValues.domain(withControls: true), as: .binary, into: "a.b")
            let all = try run("read", "a.b")
            _ = try run("write", "c.d", all)
            #expect(try run("read", "c.d") == all)
            for key in ["strings", "nested", "data", "no data", "empty array", "empty dictionary"] {
                let value = try run("read", "a.b", key)
                _ = try run("write", "e.f", key, value)
                #expect(try run("read", "e.f", key) == value)
            }
        }
    }

    @Test("`read --raw` prints data and text unchanged")
    func raw() throws {
        try run(withAgent: false) { run in
            try run.load(["d": .data(Array("a\0é\n".utf8)), "s": "\u{0}x"], as: .binary, into: "a.b")
            #expect(try run("read", "--raw", "a.b", "d") == "a\0é\n")
            #expect(try run("read", "--raw", "a.b", "s") == "\u{0}x\n")
        }
    }
}
