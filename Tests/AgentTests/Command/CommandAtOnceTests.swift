import DefaultsCore
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Concurrent commands that derive a new value from the old one.
@Suite("Concurrent commands")
struct CommandAtOnceTests {
    /// Runs eight shells concurrently, each of which runs a command several times, and returns the domain's values.
    ///
    /// In the command, `$P` is the shell's number and `$N` the number of the iteration. With `isMixed`, every second
    /// shell works without the agent.
    private func values(
        after command: String, times: Int, from start: String, hasAgent: Bool, isMixed: Bool = false
    ) throws -> PropertyListValue {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            try Programs.run(Programs.defaults, ["write", "a.b", start], environment: environment)
            let shells = try (1...8).map { number in
                try RunningProgram(
                    "/bin/sh",
                    [
                        "-ec",
                        "P=\(number); N=0; while [ $N -lt \(times) ]; do "
                            + "'\(Programs.defaults)' \(command); N=$((N+1)); done",
                    ],
                    environment: isMixed && number % 2 == 0
                        ? environment.merging(["DEFAULTS_NO_AGENT": "1"]) { $1 } : environment)
            }
            for shell in shells {
                #expect(shell.status(within: 120) == 0)
                #expect(shell.complaints() == "")
            }
            return try PropertyListValue(parsing: RawFile.read(place.path("a.b")))
        }
    }

    @Test(
        "Concurrent `-array-add` commands lose no element, with an agent, without one, and mixed",
        arguments: [(true, false), (false, false), (true, true)])
    func arrays(_ hasAgent: Bool, _ isMixed: Bool) throws {
        let values = try values(
            after: "write a.b k -array-add $P-$N", times: 25, from: "{other = 1;}", hasAgent: hasAgent, isMixed: isMixed
        )
        guard case .dictionary(let entries) = values, case .array(let elements)? = entries["k"] else {
            Issue.record("The domain holds \(values).")
            return
        }
        let expected = (1...8).flatMap { process in (0..<25).map { PropertyListValue.string("\(process)-\($0)") } }
        #expect(elements.count == 200)
        #expect(Set(elements) == Set(expected))
        #expect(entries["other"] == "1")
    }

    @Test(
        "Concurrent `-dict-add` commands at key paths lose no entry, with and without an agent",
        arguments: [true, false])
    func dictionaries(_ hasAgent: Bool) throws {
        let values = try values(
            after: "write a.b k.x.p$P -dict-add n$N v", times: 5, from: "{k = {};}", hasAgent: hasAgent)
        let inner: DomainValues = Dictionary(uniqueKeysWithValues: (0..<5).map { ("n\($0)", "v") })
        let outer: DomainValues = Dictionary(uniqueKeysWithValues: (1...8).map { ("p\($0)", .dictionary(inner)) })
        #expect(values == ["k": ["x": .dictionary(outer)]])
    }

    @Test("Concurrent renames neither lose nor duplicate a value", arguments: [true, false])
    func rename(_ hasAgent: Bool) throws {
        // Eight shells take one value from each other. Each time one of them gets it, and it is never lost or doubled.
        let values = try values(
            after: "rename a.b k p$P 2>/dev/null || true; '\(Programs.defaults)' rename a.b p$P k 2>/dev/null || true",
            times: 5, from: "{k = v;}", hasAgent: hasAgent)
        #expect(values == ["k": "v"])
    }

    @Test("`-array-add` appends to what a foreign writer has just renamed into place", arguments: [true, false])
    func foreign(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let path = place.path("a.b")
            var expected: [PropertyListValue] = []
            try RawFile.write("{k = ();}", to: path)
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            for round in 0..<40 {
                expected.append(.string("theirs \(round)"))
                let theirs = PropertyListValue.dictionary(["k": .array(expected)])
                try RawFile.replace(path, with: theirs.write(as: .binary))
                expected.append(.string("ours \(round)"))
                let outcome = try Programs.run(
                    Programs.defaults, ["write", "a.b", "k", "-array-add", "ours \(round)"], environment: environment)
                #expect(outcome.status == 0 && outcome.errors == "")
                let values = try PropertyListValue(parsing: RawFile.read(path))
                try #require(values == ["k": .array(expected)])
            }
        }
    }
}
