import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("The verb `record`")
struct RecordTests {
    /// Keys that a shell, the parser or the grammar of paths could take for something else.
    private static let keys = [
        "a", "a.b", "a.b.c", "a.b.0", "list", "list.0", "list.1", "a\\.b", "a\\b", "a\\\\b", "\\", ".", "", " ", "-",
        "--", "---", "-g", "-h", "-int", "-string", "-dict-add", "-app", "-host", "-currentHost", "--help", "--json",
        "--key-path", "--literal-key", "--version", "--generate-completion-script", "-=x", "it's", "$HOME", "`id`",
        "line\nfeed", "cr\r\n", "END", "#", "!", "n\0l", "\0", "\u{1}", "\u{7F}", "\u{FFFF}", "ß漢字", "🎉",
        String(repeating: "long ", count: 30_000),
    ]

    private static let domains: [Domain] =
        [
            "org.a", "-x", "-g", "--", "it's", "a b", "x.plist", "Apple Global Domain", "NSGlobalDomain", "a%2Fb",
        ].compactMap { try? Domain(DomainName($0), host: .any) }
        + [
            try? Domain(DomainName("org.a"), host: DomainHost(identifier: "HOST")),
            try? Domain(DomainName("org.a"), host: DomainHost(identifier: "-h")),
        ].compactMap(\.self)

    private static let values: [PropertyListValue] =
        HostileValues.scalars.sorted { $0.key < $1.key }.map(\.value)
        + (HostileValues.strings + HostileValues.controls).map { .string($0) } + [
            .real32(0.1), .uid(7), .real(.nan), .real(-.infinity), .data(Array(repeating: 7, count: 100_000)),
            .date(PropertyListDate(secondsSinceReferenceDate: 0.25)), .string(String(repeating: "x", count: 200_000)),
        ]

    private static func value(_ random: inout PseudoRandom) -> PropertyListValue {
        switch random.below(6) {
        case 0: [value(&random), value(&random)]
        case 1: ["b": value(&random), "0": value(&random), random.pick(keys): value(&random)]
        default: random.pick(values)
        }
    }

    /// Returns a domain whose keys and dictionaries have names that paths could confuse.
    private static func domain(_ random: inout PseudoRandom) -> DomainValues {
        var values: DomainValues = [:]
        for key in keys where random.oneIn(4) { values[key] = value(&random) }
        return values
    }

    @Test("`record --since` has the net changes, without keys that have their former value again")
    func since() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "org.a", "{kept = 1; back = 1; gone = 1; changed = 1;}")
            let start = try agent.connect().welcome.cursor
            try agent.defaults("write", "org.a", "back", "2")
            try agent.defaults("write", "org.a", "changed", "2")
            try agent.defaults("delete", "org.a", "gone")
            try agent.defaults("write", "org.b", "new", "x")
            try agent.defaults("write", "org.a", "back", "1")
            try agent.defaults("write", "org.a", "changed", "3")
            let lines = "defaults write org.a changed -string 3\ndefaults delete org.a gone\n"
            for since in ["\(start)", "\(start.revision)"] {
                let all = try agent.defaults("record", "--commands", "--since", since)
                #expect(all.output == lines + "defaults write org.b new -string x\n" && all.errors == "")
                #expect(try agent.defaults("record", "--commands", "--since", since, "org.a").output == lines)
            }
            #expect(try agent.defaults("record", "--since", "now").status == 1)
            #expect(try agent.defaults("record", "--since", "1h", "--by", "nobody").status == 1)
            #expect(try agent.defaults("record", "--since", "1h", "--all").status == 64)
            #expect(try agent.defaults("record", "--until", "1h").status == 64)
        }
    }

    @Test("`record` ends when its output has no reader anymore")
    func reader() throws {
        try AgentProcess.withAgent { agent in
            let recording = try agent.start("record")
            #expect(try eventually { try agent.status()["subscribers"] != [] })
            recording.closeOutput()
            #expect(recording.status(within: 30) == 1, "Nothing was recorded.")
        }
    }

    @Test("`record --all` has all values that the user has set, also without an agent", arguments: [true, false])
    func all(_ hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            func defaults(_ arguments: String...) throws -> Programs.Outcome {
                try Programs.run(Programs.defaults, arguments, environment: environment)
            }
            #expect(try defaults("record", "--all").status == 1)
            _ = try defaults("write", "org.a", "{list = (1); text = x;}")
            _ = try defaults("-host", "H", "write", "org.b", "n", "-int", "1")
            let outcome = try defaults("record", "--all")
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors)")
            #expect(
                try PropertyListValue(parsing: Array(outcome.output.utf8)) == [
                    "Domains": [
                        ["Domain": "org.a", "Set": ["list": ["1"], "text": "x"]],
                        ["Domain": "org.b", "Host": "H", "Set": ["n": 1]],
                    ]
                ])
            let commands = try defaults("record", "--all", "--commands", "org.b").output
            #expect(commands == "defaults -host H write org.b n -int 1\n")
        }
    }

    @Test(
        "The recorded commands make the recorded state, for every key and value, wherever they are run",
        arguments: 1...4 as ClosedRange<UInt64>)
    func commands(seed: UInt64) throws {
        var random = PseudoRandom(seed: seed)
        var before: [Domain: DomainValues] = [:]
        var after: [Domain: DomainValues] = [:]
        for domain in Self.domains {
            before[domain] = Self.domain(&random)
            after[domain] = Self.domain(&random)
        }
        let script = try AgentProcess.withAgent { agent in
            let connection = try agent.connect()
            for (domain, values) in before {
                try connection.edit(domain, with: values.mapValues { $0 }, replacesAll: true)
            }
            let recording = try agent.start("record", "--commands")
            #expect(try eventually { try agent.status()["subscribers"] != [] })
            for (domain, values) in after {
                try connection.edit(domain, with: values.mapValues { $0 }, replacesAll: true)
            }
            try agent.synchronize()
            recording.signal(SIGINT)
            let outcome = try recording.finish()
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors)")
            return outcome.output
        }
        for (shell, isOccupied) in [("sh", false), ("bash", true)] {
            try AgentProcess.withAgent { agent in
                let connection = try agent.connect()
                for (domain, values) in before where isOccupied {
                    try connection.edit(domain, with: values.mapValues { $0 }, replacesAll: true)
                }
                let path = agent.place.root + "/script"
                try RawFile.write(script, to: path)
                let outcome = try Programs.run(
                    "/usr/bin/env", [shell, path],
                    environment: agent.place.environment.merging(["PATH": "\(Programs.directory):/usr/bin:/bin"]) { $1 }
                )
                // In an empty directory, there is nothing to delete.
                if isOccupied {
                    #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors.prefix(2_000))")
                }
                for domain in Self.domains {
                    var expected = after[domain] ?? [:]
                    if !isOccupied { expected = expected.filter { before[domain]?[$0] != $1 } }
                    let found = try connection.snapshot(of: domain).values
                    let different = Set(expected.keys).union(found.keys).filter { expected[$0] != found[$0] }
                    #expect(different.isEmpty, "\(domain), \(shell), seed \(seed)")
                }
            }
        }
    }
}
