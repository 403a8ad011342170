import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// `defaults tail --exec`, which runs one command after the other and skips none.
@Suite("`defaults tail --exec`")
struct TailExecTests {
    /// Runs `tail` until it exits, on everything since the agent started.
    private static func past(_ agent: AgentProcess, _ command: String, _ arguments: String...) throws
        -> Programs.Outcome
    {
        let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
        return try Programs.run(
            Programs.defaults, ["tail", "--since", "\(epoch):0", "--exec", command] + arguments,
            environment: agent.place.environment.merging(["ROOT": agent.place.root]) { $1 })
    }

    private static func complaint(_ end: String, _ change: String) -> String {
        "defaults: The command for the change of \(change) \(end).\n"
    }

    @Test("A command gets the change on its standard input and in its environment")
    func change() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "{\"two words\" = 1; one = 2;}")
            try agent.defaults("-host", "HOST", "write", "c.d", "k", "v")
            try RawFile.write("{k = w;}", to: agent.place.path("c.d"))
            try agent.synchronize()
            let command =
                "echo \"$DEFAULTS_DOMAIN|$DEFAULTS_HOST|$DEFAULTS_KEYS|"
                + "$DEFAULTS_SOURCE|${DEFAULTS_SOURCE_EXECUTABLE##*/}\"; "
                + "echo \"$DEFAULTS_CURSOR\"; cat"
            let outcome = try Self.past(agent, command, "-n", "3")
            #expect(outcome.status == 0 && outcome.errors == "")
            let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            #expect(lines.count == 11)
            #expect(Array(lines[0...1]) == ["a.b||one", "two words|app|defaults"])
            #expect(lines[4] == "c.d|HOST|k|app|defaults" && lines[7] == "c.d||k|file|")
            for (cursor, object) in [(2, 3), (5, 6), (8, 9)] {
                let json = try #require(
                    try JSONSerialization.jsonObject(with: Data(lines[object].utf8)) as? [String: Any])
                #expect(json["type"] as? String == "change" && json["cursor"] as? String == lines[cursor])
            }
        }
    }

    @Test("A command's environment holds nothing of another change, and no list that splits a key")
    func stale() throws {
        try AgentProcess.withAgent { agent in
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["a\nb": "v"], replacesAll: false)
            try RawFile.write("{k = w;}", to: agent.place.path("c.d"))
            try agent.synchronize()
            let names = ["HOST", "KEYS", "VALUE", "SOURCE_PID", "SOURCE_EXECUTABLE", "OTHER"]
            let stale = Dictionary(uniqueKeysWithValues: names.map { ("DEFAULTS_\($0)", "stale") })
            let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
            let command = "env | grep =stale; echo $DEFAULTS_DOMAIN ${DEFAULTS_KEYS-unset}"
            let outcome = try Programs.run(
                Programs.defaults, ["tail", "--since", "\(epoch):0", "-n", "2", "--exec", command],
                environment: agent.place.environment.merging(stale) { $1 })
            #expect(outcome.output == "DEFAULTS_OTHER=stale\na.b unset\nDEFAULTS_OTHER=stale\nc.d k\n")
        }
    }

    @Test("A command gets the new value of a single key as `read` prints it")
    func value() throws {
        try AgentProcess.withAgent { agent in
            for value in [["-string", "two  words"], ["-int", "5"], ["-array", "1", "b c"], ["-data", "0a"]] {
                _ = try agent.run(["write", "a.b", "k"] + value)
            }
            try agent.defaults("delete", "a.b", "k")
            try agent.defaults("write", "a.b", "{one = 1; two = 2;}")
            let client = try agent.connect()
            try client.edit(Domain(DomainName("a.b")), with: ["one": "n\0l"], replacesAll: false)
            try client.edit(
                Domain(DomainName("a.b")), with: ["one": .string(String(repeating: "x", count: 70_000))],
                replacesAll: false)
            let outcome = try Self.past(agent, "echo \"${DEFAULTS_VALUE-unset}\"", "-n", "8")
            #expect(outcome.errors == "")
            #expect(outcome.output == "two  words\n5\n(\n    1,\n    \"b c\"\n)\n<0a>\nunset\nunset\nunset\nunset\n")
        }
    }

    @Test("A command finds the `defaults` that runs it, unless its directory is in the PATH already")
    func searchPath() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
            let own = Path.directory(of: Programs.defaults)
            for (path, expected) in [("/usr/bin:/bin", "\(own):/usr/bin:/bin"), ("/bin:\(own)", "/bin:\(own)")] {
                let outcome = try Programs.run(
                    Programs.defaults, ["tail", "--since", "\(epoch):0", "-n", "1", "--exec", "echo $PATH"],
                    environment: agent.place.environment.merging(["PATH": path]) { $1 })
                #expect(outcome.output == "\(expected)\n", "\(outcome.errors)")
            }
        }
    }

    @Test("A command that stops because it wants the terminal is ended and reported", arguments: ["TTIN", "TTOU"])
    func terminal(_ signal: String) throws {
        try AgentProcess.withAgent { agent in
            for key in ["one", "two"] { try agent.defaults("write", "a.b", key, "1") }
            let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
            let command = "[ $DEFAULTS_KEYS = two ] || kill -\(signal) $$; echo $DEFAULTS_KEYS"
            let outcome = try Self.past(agent, command, "-n", "2")
            #expect(outcome.status == 0 && outcome.output == "two\n")
            let end = "was killed because it tried to use the terminal"
            #expect(outcome.errors == Self.complaint(end, "a.b at \(epoch):1"))
        }
    }

    @Test("Commands run one at a time and in order, and none is skipped, however many are pending")
    func order() throws {
        try AgentProcess.withAgent { agent in
            for number in 1...20 { try agent.defaults("write", "a.b", "k\(number)", "-int", "1") }
            let command = "mkdir \"$ROOT/lock\" && echo $DEFAULTS_KEYS && rmdir \"$ROOT/lock\""
            let outcome = try Self.past(agent, command, "-n", "20")
            #expect(outcome.errors == "")
            #expect(outcome.output == (1...20).map { "k\($0)\n" }.joined())
        }
    }

    @Test("A command that fails is reported, and the next one runs")
    func failure() throws {
        try AgentProcess.withAgent { agent in
            for key in ["one", "two", "three"] { try agent.defaults("write", "a.b", key, "1") }
            let epoch = try Cursor(try Fields(agent.status()).string("cursor")).epoch
            let command = "echo $DEFAULTS_KEYS; case $DEFAULTS_KEYS in one) exit 3;; two) kill -TERM $$;; esac"
            let outcome = try Self.past(agent, command, "-n", "3")
            #expect(outcome.status == 0 && outcome.output == "one\ntwo\nthree\n")
            #expect(
                outcome.errors == Self.complaint("exited with status 3", "a.b at \(epoch):1")
                    + Self.complaint("was killed by signal 15 (Terminated)", "a.b at \(epoch):2"))
        }
    }

    @Test(
        "A command that ignores a change larger than a pipe holds neither blocks tail nor ends it",
        arguments: ["true", "exec <&-; true", "head -c 10 >/dev/null", "wc -c >/dev/null"])
    func largeInput(_ command: String) throws {
        try AgentProcess.withAgent { agent in
            let large = String(repeating: "x", count: 1 << 20)
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["large": .string(large)], replacesAll: false)
            try agent.defaults("write", "a.b", "small", "1")
            let outcome = try Self.past(agent, "\(command); echo $DEFAULTS_KEYS", "-n", "2")
            #expect(outcome.status == 0 && outcome.errors == "" && outcome.output == "large\nsmall\n")
        }
    }

    @Test("A command can read a change of more than a megabyte")
    func largeOutput() throws {
        try AgentProcess.withAgent { agent in
            let large = String(repeating: "x", count: 1 << 20)
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["large": .string(large)], replacesAll: false)
            let outcome = try Self.past(agent, "wc -c", "-n", "1")
            let count = Int(outcome.output.trimmingCharacters(in: .whitespacesAndNewlines))
            #expect(try #require(count) > 1 << 20)
        }
    }

    @Test(
        "A signal ends the command and its child processes, and then tail",
        arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    func signals(_ number: Int32) throws {
        try AgentProcess.withAgent { agent in
            let file = agent.place.root + "/pid"
            // The shell waits for a child of its own, which the signal must reach, too.
            let tail = try agent.start(
                "tail", "--exec", "sleep 1000 & echo $!; wait", "--initial", "--cursor-file", file)
            try agent.defaults("write", "a.b", "k", "v")
            let line = try #require(tail.line())
            let pid = try #require(Int32(line))
            #expect(kill(pid, 0) == 0)
            tail.signal(number)
            #expect(tail.status() == 128 + number)
            #expect(eventually { kill(pid, 0) != 0 || Self.isZombie(pid) })
            #expect(tail.complaints() == "")
            // The change isn't finished, so the next run begins with it.
            let seen = RawFile.exists(file) ? try Cursor(Self.text(file)).revision : 0
            #expect(seen == 0)
        }
    }

    @Test("A SIGKILL of tail ends the command and its child processes, even if they ignore SIGTERM")
    func killed() throws {
        try AgentProcess.withAgent { agent in
            let command = "trap '' TERM; sleep 1000 & echo $!; echo $$; wait"
            let tail = try agent.start("tail", "--exec", command, "--initial")
            try agent.defaults("write", "a.b", "k", "v")
            let pids = try [#require(tail.line()), #require(tail.line())].map { try #require(Int32($0)) }
            defer { pids.forEach { kill($0, SIGKILL) } }
            #expect(pids.allSatisfy { kill($0, 0) == 0 })
            tail.signal(SIGKILL)
            #expect(eventually { pids.allSatisfy { kill($0, 0) != 0 || Self.isZombie($0) } })
        }
    }

    @Test("A background process of a command that has ended keeps running")
    func background() throws {
        try AgentProcess.withAgent { agent in
            let tail = try agent.start("tail", "--exec", "sleep 1000 & echo $!", "--initial")
            var pids: [Int32] = []
            defer { pids.forEach { kill($0, SIGKILL) } }
            for value in ["1", "2"] {
                try agent.defaults("write", "a.b", "k", value)
                pids.append(try #require(tail.line().flatMap { Int32($0) }))
            }
            // The second command runs once the first has ended.
            #expect(kill(pids[0], 0) == 0 && !Self.isZombie(pids[0]))
        }
    }

    @Test("Ctrl-Z stops the command together with tail, and both continue together")
    func stopped() throws {
        try AgentProcess.withAgent { agent in
            let tail = try agent.start("tail", "--exec", "sleep 1000 & echo $!; wait", "--initial")
            try agent.defaults("write", "a.b", "k", "v")
            let pid = try #require(tail.line().flatMap { Int32($0) })
            defer { kill(pid, SIGKILL) }
            tail.signal(SIGTSTP)
            #expect(eventually { Self.isInState("T", pid) && Self.isInState("T", tail.pid) })
            tail.signal(SIGCONT)
            #expect(eventually { Self.isInState("S", pid) && Self.isInState("S", tail.pid) })
            // A stopped command is ended as well.
            tail.signal(SIGTSTP)
            #expect(eventually { Self.isInState("T", pid) && Self.isInState("T", tail.pid) })
            tail.signal(SIGKILL)
            #expect(eventually { kill(pid, 0) != 0 || Self.isZombie(pid) })
        }
    }

    private static func isInState(_ state: String, _ pid: Int32) -> Bool {
        let status = (try? RawFile.read("/proc/\(pid)/stat")).map { String(decoding: $0, as: UTF8.self) }
        return status?.contains(") \(state) ") ?? false
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try RawFile.read(path), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Whether a process has exited, even if it hasn't been reaped.
    private static func isZombie(_ pid: Int32) -> Bool {
        (try? RawFile.read("/proc/\(pid)/stat")).map { String(decoding: $0, as: UTF8.self).contains(") Z ") } ?? true
    }

    @Test("`--timeout` ends a command that takes longer")
    func timeout() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "v")
            let start = ContinuousClock.now
            let outcome = try Self.past(agent, "echo begun; sleep 1000", "--timeout", "1")
            #expect(outcome.status == 0 && outcome.output == "begun\n" && outcome.errors == "")
            #expect(ContinuousClock.now - start < .seconds(30))
        }
    }

    @Test("`--initial` runs the command for each domain first, and reports damage on standard error")
    func initial() throws {
        try AgentProcess.withAgent(prepare: { place in
            try RawFile.write("{k = v;}", to: place.path("a.b"))
            try RawFile.write("oops", to: place.path("c.d"))
        }) { agent in
            let outcome = try Programs.run(
                Programs.defaults,
                [
                    "tail", "--initial", "--timeout", "1", "--exec",
                    "echo $DEFAULTS_DOMAIN $DEFAULTS_KEYS $DEFAULTS_SOURCE.",
                ],
                environment: agent.place.environment)
            #expect(outcome.output == "a.b k .\n")
            #expect(outcome.errors.hasPrefix("defaults: c.d damaged: \(agent.place.path("c.d"))"))
        }
    }

    @Test(
        "`--exec` is refused together with `--json` or with an empty command",
        arguments: [["--exec", "x", "--json"], ["--exec", " "]])
    func usage(_ arguments: [String]) throws {
        #expect(try Programs.run(Programs.defaults, ["tail"] + arguments).status == 64)
    }
}
