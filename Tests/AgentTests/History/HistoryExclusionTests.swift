import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The setting `HistoryExcludes`, whatever happens to the settings and the agent.
@Suite("Keys that are excluded from the history")
struct HistoryExclusionTests {
    private static let settings = AgentSettings.domainName

    private func files(_ place: AgentProcess.Place) -> [String] {
        [place.runtime, place.state + "/defaultsd"].flatMap { directory in
            namesOfFiles(in: directory).map { "\(directory)/\($0)" }
        }
    }

    /// Returns the history files that contain a text.
    private func traces(of text: String, _ place: AgentProcess.Place) throws -> [String] {
        try files(place).filter { path in
            // A file may vanish while its successor takes its place.
            guard let status = try? RawFile.status(path), status.st_mode & S_IFMT == S_IFREG, RawFile.exists(path)
            else {
                return false
            }
            return String(decoding: try RawFile.read(path), as: UTF8.self).contains(text)
        }
    }

    private func write(_ agent: AgentProcess, _ key: String, _ value: String) throws {
        let outcome = try agent.defaults("write", "a.b", key, value)
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private func exclude(_ pattern: String, _ place: AgentProcess.Place) throws {
        let values: DomainValues = ["HistoryExcludes": [.string(pattern)]]
        try RawFile.replace(place.path(Self.settings), with: try PropertyListValue.dictionary(values).write(as: .xml))
    }

    @Test(
        "An agent that starts with settings it can't read applies the last known exclusions",
        arguments: ["torn {", "", "{HistoryExcludes = 7;}"])
    func remembered(text: String) throws {
        try AgentProcess.withPlace { place in
            try exclude("a.b/pass*", place)
            let first = try AgentProcess(place)
            try write(first, "user", "ada")
            let isRemembered = eventually { files(place).contains { $0.hasSuffix(".excludes") } }
            #expect(isRemembered)
            first.terminate()
            try RawFile.write(text, to: place.path(Self.settings))
            let second = try AgentProcess(place)
            defer { second.kill() }
            try write(second, "password", "hunter2")
            try write(second, "user", "grace")
            #expect(try traces(of: "hunter2", place) == [])
            #expect(try traces(of: "grace", place) != [])
            // Settings that can be read again are in effect at once.
            try exclude("a.b/user", place)
            try second.synchronize()
            let isGone = try eventually { try traces(of: "grace", place).isEmpty }
            #expect(isGone)
            #expect(second.complaints().contains("the last known patterns apply"))
        }
    }

    @Test("While no exclusions are known, no new value gets into the history, and older ones stay")
    func unknown() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try write(first, "key", "before")
            first.terminate()
            try RawFile.write("torn {", to: place.path(Self.settings))
            let second = try AgentProcess(place)
            try write(second, "key", "meanwhile")
            #expect(try traces(of: "meanwhile", place) == [])
            #expect(try traces(of: "before", place) != [])
            second.kill()
            let third = try AgentProcess(place)
            defer { third.kill() }
            #expect(try third.defaults("read", "a.b", "key").output == "meanwhile\n")
            try RawFile.replace(place.path(Self.settings), with: Array("{SaveDelay = 10;}".utf8))
            try third.synchronize()
            try write(third, "key", "after")
            #expect(try traces(of: "after", place) != [])
            #expect(try traces(of: "before", place) != [])
            #expect(third.complaints().contains("no values get into the history"))
        }
    }

    @Test(
        "A tail that resumes past unknown changes shows a gap, and then the domain's values",
        arguments: [true, false])
    func unknownChanges(isExcluded: Bool) throws {
        try AgentProcess.withPlace { place in
            if isExcluded { try exclude("a.b/pass*", place) }
            let first = try AgentProcess(place)
            for key in ["user", "password"] { try write(first, key, "old") }
            func tail(_ agent: AgentProcess, _ arguments: String...) throws -> [[String: Any]] {
                let outcome = try agent.run(
                    ["tail", "--json", "--cursor-file", place.runtime + "/cursor", "--timeout", "0.2"] + arguments)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return try outcome.output.split(separator: "\n").map {
                    try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                }
            }
            _ = try tail(first)
            if isExcluded { try write(first, "password", "new") }
            first.kill()
            // Only the result of this is known.
            if !isExcluded { try RawFile.write("{password = new;}", to: place.path("a.b")) }
            let second = try AgentProcess(place)
            defer { second.kill() }
            let objects = try tail(second, "a.b", "pass*")
            let gap = try #require(objects.firstIndex { $0["type"] as? String == "gap" })
            let values = try #require(objects.dropFirst(gap + 1).first)
            #expect(values["source"] is NSNull && values["domain"] as? String == "a.b")
            // The gap's cursor can't miss the values, and theirs can't miss other changes.
            let cursors = objects.map { $0["cursor"] as? String }
            #expect(cursors[gap] == cursors[gap - 1] && cursors[gap + 1] != cursors[gap])
            let changes = try #require(values["changes"] as? [[String: Any]])
            #expect(changes.map { $0["kind"] as? String } == ["initial"])
            #expect(changes.map { $0["key"] as? String } == ["password"])
            #expect(changes.map { $0["new"] as? String } == ["new"])
            #expect(!(try tail(second)).contains { $0["type"] as? String == "gap" })
        }
    }

    @Test("Damaged copies of the history in the fallback are removed with what they may contain")
    func fallback() throws {
        try AgentProcess.withPlace { root in
            let place = AgentProcess.Place(preferences: root.preferences, runtime: root.runtime, isExplicit: false)
            let directory = PreferencesDirectory(path: place.preferences)
            let environment = Environment(place.environment)
            let address = try AgentAddress(for: directory, environment: environment)
            let location = LogLocation(for: directory, socketAt: address.socketPath, environment: environment)
            let fallback = try #require(location.fallback)
            for path in [fallback.log, fallback.archive] { try RawFile.write("hunter2", to: path + ".damaged-1") }
            try exclude("a.b/pass*", place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let isGone = try eventually { try traces(of: "hunter2", place).isEmpty }
            #expect(isGone)
        }
    }

    @Test("An edit of an excluded key is saved before it is acknowledged, with the rest of its change set")
    func saved() throws {
        try AgentProcess.withPlace { place in
            try exclude("a.b/pass*", place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try RawFile.replace(
                place.path(Self.settings),
                with: Array("{HistoryExcludes = (\"a.b/pass*\"); SaveDelay = 60000; SaveLimit = 60000;}".utf8))
            try agent.synchronize()
            let connection = try agent.connect()
            let domain = try Domain(DomainName("a.b"))
            try connection.edit(domain, with: ["user": "ada"], replacesAll: false)
            #expect(!RawFile.exists(place.path("a.b")))
            try connection.edit(domain, with: ["password": "hunter2", "user": "grace"], replacesAll: false)
            agent.signal(SIGKILL)
            #expect(
                try PropertyListValue(parsing: RawFile.read(place.path("a.b")))
                    == ["password": "hunter2", "user": "grace"])
            #expect(try traces(of: "hunter2", place) == [])
        }
    }

    @Test(
        "An agent that can't save at its end says which edits its log can't keep, and restores no part of them",
        .enabled(if: SmallFileSystem.isAvailable), arguments: [SIGTERM, SIGKILL])
    func lost(signal: Int32) throws {
        try AgentProcess.withPlace { root in
            let disk = try SmallFileSystem(at: root.preferences, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: disk.path, runtime: root.runtime)
            try exclude("a.b/pass*", place)
            let agent = try AgentProcess(place)
            try Programs.shell("cat /dev/zero > fill", in: disk.path)
            let connection = try agent.connect()
            let edits: [(String, Difference)] = [
                ("a.b", ["password": "hunter2", "user": "ada"]), ("c.d", ["key": "value"]),
            ]
            for (name, values) in edits {
                try connection.edit(Domain(DomainName(name)), with: values, replacesAll: false)
            }
            agent.signal(signal)
            _ = agent.status(within: 60)
            let lines = agent.complaints().split(separator: "\n").filter { $0.contains("were not saved") }.sorted()
            #expect(lines.count == (signal == SIGTERM ? 2 : 0))
            if let lost = lines.first, let kept = lines.last, signal == SIGTERM {
                #expect(lost.contains("Edits of a.b") && lost.contains("edits of keys that HistoryExcludes names"))
                #expect(kept.contains("Edits of c.d") && kept.contains("keeps them for the next agent: "))
            }
            unlink(disk.path + "/fill")
            let next = try AgentProcess(place)
            defer { next.kill() }
            try next.synchronize()
            #expect(try next.defaults("read", "a.b").status == 1)
            #expect(try next.defaults("read", "c.d", "key").output == "value\n")
        }
    }
}
