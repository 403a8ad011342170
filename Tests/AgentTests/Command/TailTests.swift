import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// `defaults tail`: its output, where it starts, and when it ends.
@Suite("`defaults tail`")
struct TailTests {
    /// Runs `tail` with more arguments until it exits, on everything since the agent started.
    private static func past(_ agent: AgentProcess, _ arguments: String...) throws -> Programs.Outcome {
        let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
        let start = ["tail", "--since", "\(epoch):0", "--timeout", "0.2"]
        return try Programs.run(Programs.defaults, start + arguments, environment: agent.place.environment)
    }

    /// Makes three change sets: two new keys, a change to one of them, and a key in another domain.
    private static func makeChanges(_ agent: AgentProcess) throws {
        try agent.defaults("write", "a.b", "{size = 12; name = old;}")
        try agent.shell("sed -i s/12/14/ a.b.plist")
        try agent.synchronize()
        try agent.defaults("write", "c.d", "size", "-int", "1")
    }

    private static func objects(_ output: String) throws -> [[String: Any]] {
        try output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    private static func texts(_ objects: [[String: Any]], _ key: String) -> [String] {
        objects.map { $0[key] as? String ?? "" }
    }

    // MARK: Output

    @Test("An overruled removal or value is shown with the version that its writer had loaded, and how to insist")
    func overruled() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write("{size = 12;}", to: $0.path("a.b")) }) { agent in
            // Twice, a program writes what it read before the last edit.
            try agent.defaults("write", "a.b", "name", "new")
            try RawFile.write("{size = 12; other = 1;}", to: agent.place.path("a.b"))
            try agent.synchronize()
            try agent.defaults("write", "a.b", "size", "14")
            try RawFile.write("{size = 12; name = new; other = 2;}", to: agent.place.path("a.b"))
            try agent.synchronize()
            let lines = try Self.past(agent).output.split(separator: "\n").filter { $0.contains("overruled") }
            #expect(lines.count == 2)
            let program = "by a program that had loaded"
            let rest = "To insist, write the file again."
            let old = "\(program) an older version. \(rest)"
            #expect(lines.first?.hasSuffix(" a.b name  overruled: removed \(old)") == true, "\(lines)")
            #expect(lines.last?.contains(" a.b size  overruled: \"12\", set \(program) the version of 20") == true)
            #expect(lines.last?.hasSuffix(rest) == true, "\(lines)")
            try RawFile.replace(agent.place.path("a.b"), with: Array("{size = 12; name = new; other = 2;}".utf8))
            try agent.synchronize()
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")
        }
    }

    @Test("`--initial -n 0` prints the current values and ends; without values to wait for, 0 is refused")
    func onlyValues() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "1")
            let outcome = try agent.defaults("tail", "a.*", "--initial", "-n", "0")
            #expect(outcome.status == 0 && outcome.output == "a.b k  \"1\"\n")
            #expect(try agent.defaults("tail", "none", "--initial", "-n", "0").output == "")
            #expect(try agent.defaults("tail", "-n", "0").status == 64)
        }
    }

    @Test("Long values are shortened to where they begin to differ; data is shown with its own size")
    func longValues() throws {
        try AgentProcess.withAgent { agent in
            let domain = try Domain(DomainName("a.b"))
            let client = try agent.connect()
            let long = String(repeating: "é", count: 300)
            let data = PropertyListValue.data(Array(repeating: 0, count: 999))
            for value in [.string("\(long)1\(long)"), .string("\(long)2\(long)"), data] {
                try client.edit(domain, with: ["k": value], replacesAll: false)
            }
            let lines = try Self.past(agent).output.split(separator: "\n")
            try #require(lines.count == 3)
            let (lead, rest) = (String(repeating: "é", count: 50), String(repeating: "é", count: 149))
            let beginning = "\"" + String(repeating: "é", count: 199)
            #expect(lines[0].contains("k  (none) → \(beginning)… (1203 bytes)  ("))
            #expect(lines[1].contains("k  …\(lead)1\(rest)… (1203 bytes) → …\(lead)2\(rest)… (1203 bytes)  ("))
            #expect(lines[2].contains("k  \(beginning)… (1203 bytes) → {\"$data\":\"AAA"))
            #expect(lines[2].contains("AAA… (999 bytes of data)  ("))
        }
    }

    @Test("A timeout before the changes of -n has the status 124; one without -n is no failure")
    func timeoutStatus() throws {
        try AgentProcess.withAgent { agent in
            #expect(try agent.defaults("tail", "-n", "1", "--timeout", "0.1").status == 124)
            #expect(try agent.defaults("tail", "--timeout", "0.1").status == 0)
            try agent.defaults("write", "a.b", "k", "1")
            #expect(try Self.past(agent, "-n", "1").status == 0)
            #expect(try Self.past(agent, "-n", "2").status == 124)
        }
    }

    @Test("On a terminal, the agent that the command follows is named", .enabled(if: Programs.isInstalled("script")))
    func readiness() throws {
        try AgentProcess.withAgent { agent in
            let outcome = try Programs.run(
                "/usr/bin/env", ["script", "-qec", "\(Programs.defaults) tail -n 0 --initial", "/dev/null"],
                environment: agent.place.environment)
            let line = "Following \(agent.place.preferences) through the agent (pid \(agent.pid)).\r\n"
            #expect(outcome.output == "defaults: \(line)")
        }
    }

    @Test("`--json` prints one object per line, in the form that the help describes")
    func json() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write("{one = 1; two = 2;}", to: $0.path("e.f")) }) { agent in
            let tail = try agent.start("tail", "--json")
            let ready = try tail.object()
            #expect(ready.keys.sorted() == ["cursor", "directory", "pid", "type"])
            #expect(ready["type"] as? String == "ready" && ready["pid"] as? Int == Int(agent.pid))
            #expect(ready["directory"] as? String == agent.place.preferences)
            let bookmark = try tail.object()
            #expect(bookmark.keys.sorted() == ["cursor", "type"] && bookmark["type"] as? String == "bookmark")
            #expect(bookmark["cursor"] as? String == ready["cursor"] as? String)

            try agent.defaults("write", "a.b", "{data = <0a0b>; list = (a, {b = c;}); text = \"\u{1}\\\"\";}")
            let added = try tail.object()
            #expect(
                added.keys.sorted() == ["changes", "cursor", "domain", "host", "source", "time", "type"])
            #expect(added["type"] as? String == "change" && added["domain"] as? String == "a.b")
            #expect(added["host"] is NSNull)
            let time = try #require(added["time"] as? String)
            #expect(time.count >= 20 && time.hasSuffix("Z") && time.contains("T"))
            let source = try #require(added["source"] as? [String: Any])
            #expect(source["kind"] as? String == "app")
            #expect((source["executable"] as? String)?.hasSuffix("/defaults") == true)
            #expect(try #require(source["pid"] as? Int) > 0)
            let changes = try #require(added["changes"] as? [[String: Any]])
            #expect(changes.count == 3)
            #expect(changes[0].keys.sorted() == ["key", "kind", "new", "old"])
            #expect(changes[0]["key"] as? String == "data" && changes[0]["kind"] as? String == "added")
            #expect(changes[0]["old"] is NSNull)
            #expect(changes[0]["new"] as? [String: String] == ["$data": "Cgs="])
            #expect((changes[1]["new"] as? [Any])?.count == 2)
            #expect(changes[2]["new"] as? String == "\u{1}\"")

            try RawFile.write(
                """
                <plist><dict><key>one</key><integer>7</integer>
                <key>when</key><date>2020-01-01T00:00:00Z</date></dict></plist>
                """, to: agent.place.path("e.f"))
            let changed = try tail.object()
            #expect((changed["source"] as? [String: Any])?["kind"] as? String == "file")
            let fileChanges = try #require(changed["changes"] as? [[String: Any]])
            #expect(Self.texts(fileChanges, "kind") == ["changed", "removed", "added"])
            #expect(fileChanges[2]["new"] as? [String: String] == ["$date": "2020-01-01T00:00:00Z"])

            try RawFile.write("oops", to: agent.place.path("a.b"))
            let damaged = try tail.object()
            #expect(damaged.keys.sorted() == ["cursor", "domain", "host", "reason", "time", "type"])
            #expect(damaged["type"] as? String == "damaged")
            #expect((damaged["reason"] as? String)?.hasPrefix(agent.place.path("a.b")) == true)

            try agent.defaults("-host", "HOST", "write", "a.b", "real", "<*Rnan>")
            let forHost = try tail.object()
            #expect(forHost["host"] as? String == "HOST")
            let real = try #require((forHost["changes"] as? [[String: Any]])?.first)
            #expect(real["new"] as? [String: String] == ["$real": "nan"])
        }
    }

    @Test("A text line shows the time, domain, key, old value, new value and source")
    func lines() throws {
        try AgentProcess.withAgent { agent in
            try Self.makeChanges(agent)
            try agent.defaults("delete", "c.d", "size")
            let time = #"\d\d:\d\d:\d\d\.\d\d\d"#
            let app = #"\(defaults, pid \d+\)"#
            let lines = try Self.past(agent).output.split(separator: "\n")
            let patterns = [
                #"\#(time) a\.b name  \(none\) → "old"  \#(app)"#, #"\#(time) a\.b size  \(none\) → "12"  \#(app)"#,
                #"\#(time) a\.b size  "12" → "14"  \(file\)"#, #"\#(time) c\.d size  \(none\) → 1  \#(app)"#,
                #"\#(time) c\.d size  1 → \(none\)  \#(app)"#,
            ]
            #expect(lines.count == patterns.count)
            for (line, pattern) in zip(lines, patterns) {
                #expect(try Regex(pattern).wholeMatch(in: line) != nil, "\(line)")
            }
        }
    }

    @Test(
        "Arguments for domains and keys, or patterns of them, select the changes shown",
        arguments: [
            (["a.b"], ["a.b name", "a.b size", "a.b size"]), (["c.*"], ["c.d size"]), (["?.b", "n*"], ["a.b name"]),
            (["*", "size"], ["a.b size", "a.b size", "c.d size"]),
            (["a.b", "name", "size"], ["a.b name", "a.b size", "a.b size"]),
            (["nope"], []), (["a.b", "nope"], []), (["NSGlobalDomain"], []),
        ])
    func filters(_ arguments: [String], _ expected: [String]) throws {
        try AgentProcess.withAgent { agent in
            try Self.makeChanges(agent)
            let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
            let outcome = try Programs.run(
                Programs.defaults, ["tail", "--since", "\(epoch):0", "--timeout", "0.2"] + arguments,
                environment: agent.place.environment)
            let shown = outcome.output.split(separator: "\n").map {
                $0.split(separator: " ").dropFirst().prefix(2).joined(separator: " ")
            }
            #expect(shown == expected)
        }
    }

    @Test("`--initial` shows the current values first, and then changes")
    func initial() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write("{one = 1; two = 2;}", to: $0.path("a.b")) }) { agent in
            let tail = try agent.start("tail", "--json", "--initial")
            let objects = try tail.objects(upTo: "bookmark")
            #expect(Self.texts(objects, "type") == ["ready", "change", "bookmark"])
            #expect(objects[0]["cursor"] as? String == "0000000000000000:0")
            let changes = try #require(objects[1]["changes"] as? [[String: Any]])
            #expect(Self.texts(changes, "kind") == ["initial", "initial"])
            #expect(Self.texts(changes, "key") == ["one", "two"])
            try agent.defaults("write", "a.b", "one", "2")
            let next = try tail.object()
            #expect((next["changes"] as? [[String: Any]])?.first?["old"] as? String == "1")

            let values = "a.b one  \"2\"\na.b two  \"2\"\n"
            #expect(try agent.defaults("tail", "--initial", "--timeout", "0.2").output == values)
            let again = try agent.defaults("tail", "--since", "0000000000000000:0", "--timeout", "0.2")
            #expect(again.output == "The values were interrupted and start over.\n" + values)
        }
    }

    @Test("The bookmark follows all initial values, however large one is")
    func largeInitial() throws {
        try AgentProcess.withAgent { agent in
            let connection = try agent.connect()
            for (name, size) in [("a.a", 1), ("b.b", 200_000), ("c.c", 1), ("d.d", 1)] {
                let value = PropertyListValue.string(String(repeating: "x", count: size))
                try connection.edit(Domain(DomainName(name)), with: ["key": value], replacesAll: false)
            }
            let objects = try agent.start("tail", "--json", "--initial").objects(upTo: "bookmark")
            #expect(Self.texts(objects, "type") == ["ready", "change", "change", "change", "change", "bookmark"])
            #expect(Self.texts(objects.filter { $0["domain"] != nil }, "domain") == ["a.a", "b.b", "c.c", "d.d"])
        }
    }

    @Test("Initial values that the agent's end interrupts start over after a gap, in the same `tail` and the next one")
    func interruptedInitial() throws {
        try AgentProcess.withPlace { place in
            let large = String(repeating: "x", count: 100_000)
            for number in 10..<60 { try RawFile.write("{one = 1; two = \(large);}", to: place.path("a.\(number)")) }
            let first = try AgentProcess(place)
            let options = ["tail", "--json", "--initial", "--cursor-file", place.runtime + "/cursor"]
            func tail() throws -> RunningProgram {
                try RunningProgram(Programs.defaults, options, environment: place.environment)
            }
            let (interrupted, killed) = (try tail(), try tail())
            for tail in [interrupted, killed] {
                #expect(try tail.objects(upTo: "change").last?["domain"] as? String == "a.10")
            }
            killed.kill()
            // Most values are still unsent, because the command's output isn't read.
            first.kill()
            try RawFile.write("{two = 2;}", to: place.path("a.10"))
            let second = try AgentProcess(place)
            defer { second.kill() }
            for tail in [interrupted, try tail()] {
                let objects = try tail.objects(upTo: "bookmark")
                let gap = try #require(objects.lastIndex { $0["type"] as? String == "gap" })
                let values = Array(objects[(gap + 1)...].dropLast())
                #expect(Self.texts(values, "domain") == (10..<60).map { "a.\($0)" })
                let changes = try #require(values.first?["changes"] as? [[String: Any]])
                #expect(Self.texts(changes, "key") == ["two"])
            }
        }
    }

    @Test("`tail` creates the default directory if it doesn't exist")
    func firstRun() throws {
        try AgentProcess.withPlace { place in
            let home = place.runtime + "/home"
            #expect(mkdir(home, 0o700) == 0)
            let environment = place.environment.merging([
                "HOME": home, "XDG_CONFIG_HOME": "", "DEFAULTS_DIRECTORY": "",
            ]) { $1 }
            let outcome = try Programs.run(
                Programs.defaults, ["tail", "--json", "--timeout", "0.2"], environment: environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains(#""type":"ready""#))
            #expect(try RawFile.status(home + "/.config").st_mode & 0o7777 == 0o700)
        }
    }

    @Test("No control character in a key, a value, a domain or a damaged file reaches the terminal")
    func controlCharacters() throws {
        try AgentProcess.withAgent { agent in
            let nasty = "\u{1B}]0;x\u{7}\r\n\t\u{8}\u{7F}\u{9B}2J\u{2028}"
            try agent.defaults("write", "a\u{1B}b", "key\(nasty)", "-string", "value\(nasty)")
            try RawFile.write("{\u{1B}c = \(nasty) [;}", to: agent.place.path("c.d"))
            try agent.defaults("write", "c.d", "x", "y")
            try agent.synchronize()
            let outcome = try Self.past(agent, "--color", "never")
            let initial = try agent.defaults("tail", "--initial", "--timeout", "0.2")
            let status = try agent.defaults("status")
            let reading = try agent.defaults("read", "c.d")
            let missing = try agent.defaults("read", "no\(nasty)")
            let shown = [
                outcome.output, outcome.errors, initial.output, status.output, reading.errors, missing.errors,
            ]
            for text in shown {
                let bad = text.unicodeScalars.filter { $0.properties.generalCategory == .control && $0 != "\n" }
                #expect(bad.isEmpty, "\(text.debugDescription)")
                #expect(!text.contains("\u{2028}"))
            }
            #expect(outcome.output.contains(#"\u001b]0;x\u0007\r\n\t"#))
            #expect(outcome.output.contains("damaged: "))
            #expect(outcome.output.split(separator: "\n").count == 4, "\(outcome.output)")
        }
    }

    @Test("Output to a pipe has no colors unless an option or CLICOLOR_FORCE asks for them")
    func colors() throws {
        try AgentProcess.withAgent { agent in
            try Self.makeChanges(agent)
            func isColored(_ arguments: [String], _ variables: [String: String] = [:]) throws -> Bool {
                let outcome = try Programs.run(
                    Programs.defaults, ["tail", "--initial", "--timeout", "0.2"] + arguments,
                    environment: agent.place.environment.merging(["NO_COLOR": "", "CLICOLOR_FORCE": ""]) { $1 }
                        .merging(variables) { $1 })
                #expect(outcome.output.contains("size"))
                return outcome.output.contains("\u{1B}[")
            }
            #expect(try !isColored([]))
            #expect(try !isColored(["--color", "auto"]))
            #expect(try isColored(["--color", "always"]))
            #expect(try isColored(["--color", "always"], ["NO_COLOR": "1"]))
            #expect(try isColored([], ["CLICOLOR_FORCE": "1"]))
            #expect(try !isColored([], ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"]))
            #expect(try !isColored(["--color", "never"], ["CLICOLOR_FORCE": "1"]))
            #expect(try !isColored(["--json", "--color", "always"]))
        }
    }

    @Test("Output to a terminal has colors except with NO_COLOR", .enabled(if: ForeignProcess.hasPython))
    func terminal() throws {
        try AgentProcess.withAgent { agent in
            try Self.makeChanges(agent)
            for (noColor, expected) in [("", true), ("1", false)] {
                let text = try ForeignProcess.run(
                    python: """
                        import os, pty, sys
                        os.environ.update(DEFAULTS_DIRECTORY=sys.argv[2], DEFAULTSD_SOCKET=sys.argv[3], TERM='xterm')
                        os.environ.update(NO_COLOR=sys.argv[4], CLICOLOR_FORCE='')
                        sys.exit(pty.spawn([sys.argv[1], 'tail', '--initial', '--timeout', '0.2']))
                        """,
                    [Programs.defaults, agent.place.preferences, agent.place.socket, noColor])
                #expect(text.contains("size"))
                #expect(text.contains("\u{1B}[") == expected)
            }
        }
    }

    // MARK: Start

    @Test(
        "`--since` resumes after a cursor, a number or a time, rejects others, and shows a gap for one of another log")
    func since() throws {
        try AgentProcess.withAgent { agent in
            try Self.makeChanges(agent)
            let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
            let later = try agent.defaults("tail", "--since", "\(epoch):2", "--timeout", "0.2").output
            #expect(later.split(separator: "\n").count == 1 && later.contains("c.d size"))

            #expect(try agent.defaults("tail", "--since", "2", "--timeout", "0.2").output == later)
            let every = try agent.defaults("tail", "--since", "0", "--timeout", "0.2").output
            #expect(every.hasSuffix(later) && every != later)
            for text in ["yesterday", "-1h", "1 hour ago"] {
                let all = try agent.defaults("tail", "--since", text, "--timeout", "0.2").output
                #expect(all == every, "\(all)")
            }
            #expect(try agent.defaults("tail", "--since", "now", "--timeout", "0.2").output == "")
            #expect(try agent.defaults("tail", "--since", "12", "--timeout", "0.2").status == 1)

            for text in ["noon", "", "\(epoch):", "\(epoch):-1", "\(epoch):99999999999999999999"] {
                let outcome = try agent.defaults("tail", "--since", text, "--timeout", "0.2")
                #expect(outcome.status == 64 && outcome.output == "")
                #expect(
                    outcome.errors.contains("Give a number from `defaults log`, a cursor, or a time")
                        && outcome.errors.split(separator: "\n").count == 1)
            }

            for text in ["0000000000000001:7", "\(epoch):99"] {
                let outcome = try agent.defaults("tail", "--json", "--since", text, "--timeout", "0.2")
                let objects = try Self.objects(outcome.output)
                #expect(
                    Self.texts(objects, "type") == ["ready", "gap", "change", "change", "bookmark"])
                #expect(objects[1].keys.sorted() == ["cursor", "from", "to", "type"])
                // A client that has stored any of these cursors misses none of the values.
                #expect(Self.texts(objects, "cursor") == [text, text, text, "\(epoch):3", "\(epoch):3"])
                #expect(objects[1]["from"] as? String == text)
                #expect(objects[2]["domain"] as? String == "a.b" && objects[3]["domain"] as? String == "c.d")
                let people = try agent.defaults("tail", "--since", text, "--timeout", "0.2")
                #expect(
                    people.output.hasPrefix("The changes between \(text) and \(epoch):3 are no longer available.\n"))
                #expect(people.output.split(separator: "\n").count == 4)
            }
        }
    }

    @Test("`--cursor-file` resumes exactly after the last change that was shown")
    func cursorFile() throws {
        try AgentProcess.withAgent { agent in
            let file = agent.place.runtime + "/cursor"
            // A directory whose name begins like the file's does no harm.
            try RawFile.makeDirectory(file + ".new")
            func run(_ arguments: String...) throws -> [Int] {
                let outcome = try Programs.run(
                    Programs.defaults, ["tail", "--json", "--cursor-file", file] + arguments,
                    environment: agent.place.environment)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return try Self.objects(outcome.output).filter { $0["type"] as? String == "change" }
                    .compactMap { ($0["changes"] as? [[String: Any]])?.first?["new"] as? Int }
            }
            func write(_ numbers: ClosedRange<Int>) throws {
                for number in numbers { try agent.defaults("write", "a.b", "number", "-int", "\(number)") }
            }
            try write(1...2)
            #expect(try run("--timeout", "0.2") == [])
            try write(3...6)
            #expect(try run("-n", "1") == [3])
            #expect(try run("-n", "2") == [4, 5])
            try write(7...8)
            #expect(try run("-n", "3") == [6, 7, 8])
            #expect(try run("--timeout", "0.2") == [])
            #expect(try Cursor(String(decoding: RawFile.read(file).dropLast(), as: UTF8.self)).revision == 8)
            // A change that the filter drops is skipped for good.
            try write(9...9)
            #expect(try run("--timeout", "0.2", "c.d") == [])
        }
    }

    @Test("A temporary file that a killed run left beside its cursor file is removed, and nothing else is")
    func cursorFileLeftovers() throws {
        try AgentProcess.withAgent { agent in
            let path = agent.place.runtime + "/seen"
            let kept = ["seen.12ab.new", "seen.note.new", "seen.new", "other.12ab.new"]
            for name in kept + ["seen.1234abcd.new"] { try RawFile.write("", to: "\(agent.place.runtime)/\(name)") }
            for name in kept.dropFirst() + ["seen.1234abcd.new"] {
                var times = [timeval](repeating: timeval(tv_sec: time(nil) - 3_600, tv_usec: 0), count: 2)
                utimes("\(agent.place.runtime)/\(name)", &times)
            }
            #expect(try agent.defaults("tail", "--cursor-file", path, "--timeout", "0.2").status == 0)
            let names = namesOfFiles(in: agent.place.runtime).filter { $0.hasSuffix(".new") }
            #expect(names.sorted() == kept.sorted())
        }
    }

    @Test("An unusable cursor file is reported immediately")
    func badCursorFile() throws {
        try AgentProcess.withAgent { agent in
            let missing = try agent.defaults("tail", "--cursor-file", "/nonexistent/file", "--timeout", "5")
            #expect(missing.status == 74)
            #expect(
                missing.errors
                    == "defaults: The cursor file /nonexistent/file can't be written: No such file or directory.\n")
            let directory = try agent.defaults("tail", "--cursor-file", agent.place.runtime, "--timeout", "5")
            #expect(directory.status == 74 && directory.errors.contains("can't be read: Is a directory"))
            try RawFile.write("yesterday\n", to: agent.place.runtime + "/file")
            let other = try agent.defaults("tail", "--cursor-file", agent.place.runtime + "/file", "--timeout", "5")
            #expect(
                other.status == 65 && other.errors.contains("isn't a cursor")
                    && other.errors.contains("Remove the file"))
            #expect(try RawFile.read(agent.place.runtime + "/file") == Array("yesterday\n".utf8))
        }
    }

    // MARK: End

    @Test("`-n` ends tail after so many change sets, `--timeout` after a time, and invalid ones are refused")
    func ends() throws {
        try AgentProcess.withAgent { agent in
            try Self.makeChanges(agent)
            #expect(try Self.past(agent, "-n", "1").output.split(separator: "\n").count == 2)
            #expect(try Self.past(agent, "-n", "2").output.split(separator: "\n").count == 3)
            let idle = try agent.defaults("tail", "--timeout", "0")
            #expect(idle.status == 0 && idle.output == "")
            for arguments in [
                ["-n", "0"], ["-n", "x"], ["--timeout", "-1"], ["--timeout", "nan"], ["--mode", "fast"],
            ] {
                let outcome = try Programs.run(
                    Programs.defaults, ["tail"] + arguments, environment: agent.place.environment)
                #expect(outcome.status == 64 && outcome.output == "")
            }
        }
    }

    @Test("`tail` exits with 0 when its reader is gone, whether it is writing or idle", arguments: [true, false])
    func closedPipe(_ isIdle: Bool) throws {
        try AgentProcess.withAgent { agent in
            let tail = try agent.start("tail", "--json")
            _ = try tail.objects(upTo: "bookmark")
            tail.closeOutput()
            if !isIdle { try agent.defaults("write", "a.b", "key", "value") }
            #expect(tail.status() == 0)
            #expect(tail.complaints() == "")
        }
    }

    @Test("SIGINT ends tail with status 130")
    func interrupt() throws {
        try AgentProcess.withAgent { agent in
            let tail = try agent.start("tail", "--json")
            _ = try tail.objects(upTo: "bookmark")
            tail.signal(SIGINT)
            #expect(tail.status() == 130)
            #expect(agent.isRunning)
        }
    }

    // MARK: Agents

    @Test(
        "A tail without an agent starts its own, which exits with the tail however that ends",
        arguments: [SIGKILL, SIGINT, SIGTERM, 0])
    func ownAgent(_ signal: Int32) throws {
        try AgentProcess.withPlace { place in
            let arguments = ["tail", "--json"] + (signal == 0 ? ["-n", "1"] : [])
            let tail = try RunningProgram(Programs.defaults, arguments, environment: place.environment)
            let ready = try tail.object()
            let agent = pid_t(try #require(ready["pid"] as? Int))
            #expect(agent != tail.pid && Self.isAlive(agent))
            try Programs.run(Programs.defaults, ["write", "a.b", "k", "v"], environment: place.environment)
            let change = try tail.objects(upTo: "change").last
            #expect(change?["domain"] as? String == "a.b")
            if signal != 0 { tail.signal(signal) }
            #expect(tail.status() == (signal == 0 ? 0 : 128 + signal))
            let hasEnded = eventually { !Self.isAlive(agent) }
            #expect(hasEnded)
            let status = try Programs.run(Programs.defaults, ["status"], environment: place.environment)
            #expect(status.status == 69)
        }
    }

    @Test("`tail` reports an agent that can't be started")
    func noAgent() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("precious", to: place.socket)
            let outcome = try Programs.run(
                Programs.defaults, ["tail", "--timeout", "5"], environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("is not a socket"), "\(outcome.errors)")
        }
    }

    @Test("`tail` says what to do if there is no agent to start")
    func noProgram() throws {
        try AgentProcess.withPlace { place in
            try RawFile.makeDirectory(place.root + "/bin")
            try FileManager.default.copyItem(atPath: Programs.defaults, toPath: place.root + "/bin/defaults")
            let outcome = try Programs.run(
                place.root + "/bin/defaults", ["tail", "--timeout", "5"],
                environment: place.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 })
            #expect(outcome.status == 69 && outcome.output == "")
            #expect(
                outcome.errors == """
                    defaults: No agent is running, and there is no `defaultsd` to start, neither in \(place.root)/bin \
                    nor in the PATH. Install it; in a checkout, run `swift build --product defaultsd`.

                    """)
        }
    }

    @Test(
        "A tail whose agent is replaced by another loses no line and repeats none",
        arguments: [SIGKILL, SIGTERM])
    func reconnects(_ signal: Int32) throws {
        try AgentProcess.withAgent { first in
            let tail = try first.start("tail", "--json")
            _ = try tail.objects(upTo: "bookmark")
            for number in 1...3 { try first.defaults("write", "a.b", "number", "-int", "\(number)") }
            first.signal(signal)
            let hasEnded = eventually { !first.isRunning }
            #expect(hasEnded)
            // If this takes long, tail starts an agent of its own, which serves just as well.
            let second = try? AgentProcess(first.place)
            defer { second?.kill() }
            for number in 4...6 {
                let outcome = try first.defaults("write", "a.b", "number", "-int", "\(number)")
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            var numbers: [Int] = []
            var types: [String] = []
            while numbers.last != 6 {
                let object = try tail.object()
                types.append(object["type"] as? String ?? "")
                guard let change = (object["changes"] as? [[String: Any]])?.first else { continue }
                numbers.append(try #require(change["new"] as? Int))
            }
            #expect(numbers == [1, 2, 3, 4, 5, 6])
            #expect(!types.contains("gap"))
        }
    }

    @Test("Several tails without an agent all follow the one that one of them starts, even after it is killed")
    func together() throws {
        try AgentProcess.withPlace { place in
            let tails = try (1...4).map { _ in
                try RunningProgram(Programs.defaults, ["tail", "--json"], environment: place.environment)
            }
            let agents = try tails.map { pid_t(try #require(try $0.object()["pid"] as? Int)) }
            #expect(Set(agents).count == 1)
            func write(_ number: Int) throws {
                let arguments = ["write", "a.b", "number", "-int", "\(number)"]
                let outcome = try Programs.run(Programs.defaults, arguments, environment: place.environment)
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            for number in 1...3 { try write(number) }
            kill(agents[0], SIGKILL)
            let hasCome = try eventually(within: 30) {
                try Programs.run(Programs.defaults, ["status"], environment: place.environment).status == 0
            }
            #expect(hasCome)
            for number in 4...6 { try write(number) }
            for tail in tails {
                var numbers: [Int] = []
                var types: Set<String> = []
                while numbers.last != 6 {
                    let object = try tail.object()
                    types.insert(object["type"] as? String ?? "")
                    guard let change = (object["changes"] as? [[String: Any]])?.first else { continue }
                    numbers.append(try #require(change["new"] as? Int))
                }
                #expect(numbers == [1, 2, 3, 4, 5, 6])
                #expect(!types.contains("gap"))
            }
        }
    }

    @Test("A tail waits for a new agent when the old one accepts connections and dies")
    func diesWhileGreeting() throws {
        try AgentProcess.withAgent { first in
            let tail = try first.start("tail", "--json")
            _ = try tail.objects(upTo: "bookmark")
            // Stands in for an agent that is being killed: resets some connections when it is greeted.
            let dying = try ForeignProcess(
                python: """
                    import os, socket, sys
                    path = sys.argv[1]
                    listener = socket.socket(socket.AF_UNIX)
                    listener.bind(path + '.new')
                    listener.listen(8)
                    print('listening', flush=True)
                    for number in range(6):
                        connection = listener.accept()[0]
                        connection.recv(1)
                        # Unread data turns the close into a reset.
                        connection.close()
                    os.unlink(path)
                    """, [first.place.socket])
            #expect(dying.line() == "listening")
            // It must be there before the tail starts an agent, which it does after half a second.
            first.kill()
            #expect(rename(first.place.socket + ".new", first.place.socket) == 0)
            let fresh = try first.start("tail", "--json")
            try dying.remainder()
            let second = try? AgentProcess(first.place)
            defer { second?.kill() }
            _ = try fresh.objects(upTo: "bookmark")
            try first.defaults("write", "a.b", "k", "v")
            for tail in [tail, fresh] {
                #expect(try tail.objects(upTo: "change").last?["domain"] as? String == "a.b")
            }
        }
    }

    /// Whether a process is running; one that has exited but hasn't been reaped isn't.
    private static func isAlive(_ pid: pid_t) -> Bool {
        guard let status = try? RawFile.read("/proc/\(pid)/stat") else { return false }
        return String(decoding: status, as: UTF8.self).split(separator: ")").last?.hasPrefix(" Z") == false
    }
}
