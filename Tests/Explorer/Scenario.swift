import ArgumentParser
import DefaultsClient
import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport

/// The program under test: in an agent, or in a command that uses the files directly.
enum Subject: String, CaseIterable, ExpressibleByArgument {
    case agent
    case command
}

/// A piece of work of an agent or a command, from the state of the files before it.
struct Scenario: Sendable {
    let name: String
    var subjects: [Subject] = [.agent]
    /// Whether the log discards records during the work, so that earlier cursors lead to a gap.
    var discardsRecords = false
    /// Whether "key" is excluded from the history, so that a follower that resumes is told to read the values.
    var excludesKey = false
    /// The format of the domain's file at the beginning; `nil` if there is none.
    var format: PropertyListFormat? = .xml
    /// The values in that file.
    var values = Scenario.initial
    /// Whether its value of "twin" is at the place of that of "key".
    var hasAlias = false
    /// The agent's settings.
    var settings: DomainValues = [:]
    /// Whether the domain is that of the current host.
    var isOfHost = false
    /// Whether others change the directory during the work, so that the subject's calls aren't all that changes it.
    var isForeign = false
    /// Whether any agent may discard records, since other programs' values alone are larger than the log should be.
    var hasShortLog: Bool { discardsRecords && isForeign }
    /// Prepares the directory, before the subject starts.
    var prepare: @Sendable (Trial) throws -> Void = { _ in }
    /// Whether the work itself starts the agent.
    var startsSubject = false
    /// Does the work with the subject.
    let work: @Sendable (Trial) throws -> Void

    /// The values at the beginning, and the text in the file that must stay.
    static let initial: DomainValues = [
        "key": "before", "twin": "before", "old": "kept", "list": .array(["a", "a"]),
    ]
    /// Settings that exclude "key" from the history.
    static let excluding: DomainValues = ["HistoryExcludes": .array([.string("\(Trial.domainName)/key")])]
    static let comment = "<!-- a comment that stays -->"

    /// Values that make a binary file large enough to be spliced.
    static let large = initial.merging(["large": .string(String(repeating: "x", count: 40_000))]) { $1 }

    /// Returns the bytes of the domain's file at the beginning.
    func bytes(_ format: PropertyListFormat) throws -> [UInt8] {
        if !hasAlias {
            let bytes = try PropertyListValue.dictionary(values).write(as: format)
            return format == .xml ? Self.commented(bytes) : bytes
        }
        let other = "other!"
        var bytes = try PropertyListValue.dictionary(values.merging(["twin": .string(other)]) { $1 }).write(as: format)
        // The end of a binary property list: the size of an offset, and where the offsets are.
        let size = Int(bytes[bytes.count - 26])
        let table = bytes.suffix(4).reduce(0) { $0 << 8 | Int($1) }
        func offset(_ text: String) -> [UInt8] {
            let start = bytes.firstRange(of: [0x50 + UInt8(text.utf8.count)] + Array(text.utf8))?.lowerBound ?? 0
            return (0..<size).reversed().map { UInt8(truncatingIfNeeded: start >> ($0 * 8)) }
        }
        for entry in stride(from: table, to: bytes.count - 32, by: size)
        where Array(bytes[entry..<entry + size]) == offset(other) {
            bytes.replaceSubrange(entry..<entry + size, with: offset("before"))
        }
        return bytes
    }

    /// Returns XML with the comment at its end.
    static func commented(_ bytes: [UInt8]) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        return Array(text.replacing("</dict>\n</plist>", with: "\t\(comment)\n</dict>\n</plist>").utf8)
    }

    static let all: [Scenario] = [
        Scenario(name: "first-save", subjects: [.agent, .command], format: nil) { try $0.edit(["key": "after"]) },
        Scenario(name: "splice", subjects: [.agent, .command]) { try $0.edit(["key": "after"]) },
        Scenario(name: "splice-removal", subjects: [.agent, .command]) { try $0.edit(["key": nil]) },
        Scenario(name: "binary", subjects: [.agent, .command], format: .binary) { try $0.edit(["key": "after"]) },
        Scenario(name: "large-binary", subjects: [.agent, .command], format: .binary, values: large) {
            try $0.edit(["key": "after"])
        },
        Scenario(name: "alias", subjects: [.agent, .command], format: .binary, values: large, hasAlias: true) {
            try $0.edit(["key": "after"])
        },
        Scenario(name: "old-style", subjects: [.agent, .command], format: .oldStyle) { try $0.edit(["key": "after"]) },
        Scenario(name: "open-writer", isForeign: true) { trial in
            try trial.withOpenWriter { try trial.edit(["key": "after"]) }
        },
        Scenario(
            name: "link", subjects: [.agent, .command],
            prepare: { trial in
                try RawFile.makeDirectory(trial.elsewhere)
                guard rename(trial.path, trial.elsewhere + "/real.plist") == 0,
                    symlink("../elsewhere/real.plist", trial.path) == 0
                else { throw TestSystemError("symlink") }
            }
        ) { try $0.edit(["key": "after"]) },
        Scenario(
            name: "hard-link", subjects: [.agent, .command],
            prepare: { trial in
                try RawFile.makeDirectory(trial.elsewhere)
                guard link(trial.path, trial.elsewhere + "/second.plist") == 0 else { throw TestSystemError("link") }
            }
        ) { try $0.edit(["key": "after"]) },
        Scenario(name: "by-host", subjects: [.agent, .command], isOfHost: true) { try $0.edit(["key": "after"]) },
        Scenario(name: "deletion", subjects: [.agent, .command]) { try $0.edit([:], replacesAll: true) },
        Scenario(name: "import", subjects: [.agent, .command]) {
            try $0.importAll(["key": "after", "new": "imported", "old": "kept"])
        },
        Scenario(name: "conditional", subjects: [.agent]) {
            try $0.edit(["key": "after"], expecting: ["key": "before"])
        },
        Scenario(name: "append", subjects: [.command]) {
            try $0.command(
                ["write", $0.domainName, "list", "-array-add", "b"], writes: ["list": .array(["a", "a", "b"])],
                or: ["list": .array(["b"])])
        },
        Scenario(name: "two-edits", subjects: [.agent]) {
            try $0.edit(["key": "after", "added": 1])
            try $0.edit(["key": "later", "old": nil])
        },
        Scenario(
            name: "undo", subjects: [.agent],
            prepare: { trial in
                try trial.withOtherAgent { try trial.edit(["key": "undone"], with: $0) }
            }
        ) { try $0.command(["undo", $0.domainName], writes: ["key": "before"]) },
        Scenario(
            name: "log-replacement", subjects: [.agent], discardsRecords: true, settings: ["LogBytes": 65_536],
            prepare: { trial in
                try trial.withOtherAgent { agent in
                    for number in 0..<3 { try trial.edit(["large": .string(trial.text(number, 30_000))], with: agent) }
                }
            }
        ) { trial in
            for number in 3..<6 { try trial.edit(["large": .string(trial.text(number, 30_000)), "key": "after"]) }
        },
        Scenario(
            name: "archive-thinning", subjects: [.agent], discardsRecords: true,
            settings: ["LogBytes": 65_536, "HistoryBytes": 65_536],
            prepare: { trial in
                try trial.withOtherAgent { agent in
                    for number in 0..<8 { try trial.edit(["large": .string(trial.text(number, 30_000))], with: agent) }
                }
            }
        ) { trial in
            for number in 8..<12 { try trial.edit(["large": .string(trial.text(number, 30_000)), "key": "after"]) }
        },
        Scenario(
            name: "start", subjects: [.agent],
            prepare: { trial in try trial.withOtherAgent { try trial.edit(["key": "after"], with: $0) } },
            startsSubject: true
        ) { try $0.startSubject() },
        Scenario(
            name: "start-after-crash", subjects: [.agent], settings: ["SaveDelay": 60_000, "SaveLimit": 60_000],
            prepare: { trial in
                try trial.withOtherAgent(isKilled: true) { try trial.edit(["key": "after"], with: $0, isSaved: false) }
            }, startsSubject: true
        ) { try $0.startSubject() },
        Scenario(
            name: "end", subjects: [.agent], settings: ["SaveDelay": 60_000, "SaveLimit": 60_000]
        ) { trial in
            try trial.edit(["key": "after"], isSaved: false)
            trial.endSubject()
        },
        Scenario(
            name: "upgrade", subjects: [.agent], settings: ["SaveDelay": 60_000, "SaveLimit": 60_000]
        ) { trial in
            try trial.edit(["key": "after"], isSaved: false)
            try trial.upgradeSubject()
            try trial.edit(["added": "later"])
        },
        Scenario(name: "remade-directory", isForeign: true) { trial in
            try trial.remakeDirectory()
            try trial.edit(["key": "after"])
        },
        Scenario(name: "foreign-change", isForeign: true) { trial in
            try trial.writeForeign(in: trial.path, as: .renamed, ["key": "foreign"])
            trial.synchronize()
        },
        Scenario(name: "excluded", excludesKey: true, settings: excluding) { try $0.edit(["key": "after"]) },
        Scenario(name: "excluded-pair", excludesKey: true, settings: excluding) {
            try $0.edit(["key": "after", "twin": "after"])
        },
        Scenario(name: "excluded-writer", excludesKey: true, settings: excluding, isForeign: true) { trial in
            try trial.withOpenWriter { try trial.edit(["key": "after"]) }
        },
        Scenario(
            name: "later-exclusion", excludesKey: true, settings: ["SaveDelay": 60_000, "SaveLimit": 60_000]
        ) { trial in
            try trial.edit(["key": "after"], isSaved: false)
            try trial.excludeKey()
            trial.endSubject()
        },
        Scenario(
            name: "later-manifest", excludesKey: true, settings: ["SaveDelay": 60_000, "SaveLimit": 60_000],
            // A directory that doesn't exist is only looked for every few seconds.
            prepare: { try $0.place.describe("org.example.other", with: "") }
        ) { trial in
            try trial.edit(["key": "after"], isSaved: false)
            try trial.excludeKey(byManifest: true)
            trial.endSubject()
        },
        Scenario(name: "short-log", discardsRecords: true, settings: ["LogBytes": 1_024], isForeign: true) { trial in
            try trial.withOpenWriter(.string(trial.text(0, 6_000))) { try trial.edit(["key": "after", "old": nil]) }
        },
    ]
}
