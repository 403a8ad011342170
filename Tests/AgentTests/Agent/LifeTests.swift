import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The agent's start, status, settings and exit.
@Suite("The agent's life cycle")
struct LifeTests {
    @Test(
        "The agent logs one line when ready, and exits cleanly on SIGTERM and SIGINT", arguments: [SIGTERM, SIGINT])
    func ready(_ signal: Int32) throws {
        try AgentProcess.withAgent { agent in
            agent.signal(signal)
            #expect(agent.status(within: 30) == 0)
            let lines = agent.complaints().split(separator: "\n")
            #expect(lines.count == 1)
            #expect(lines.first?.contains("ready: watching \(agent.place.preferences) by inotify") == true, "\(lines)")
            #expect(!RawFile.exists(agent.place.socket))
        }
    }

    @Test("The agent saves pending edits when SIGTERM or SIGINT ends it", arguments: [SIGTERM, SIGINT])
    func savesAtTheEnd(_ signal: Int32) throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let connection = try agent.connect()
            for domain in ["a.b", "c.d"] {
                try connection.edit(Domain(DomainName(domain)), with: ["key": "value"], replacesAll: false)
            }
            #expect(!RawFile.exists(agent.place.path("a.b")))
            #expect(
                try agent.status()["pending"] == [["domain": "a.b", "edits": 1], ["domain": "c.d", "edits": 1]])
            agent.signal(signal)
            #expect(agent.status(within: 30) == 0)
            for domain in ["a.b", "c.d"] {
                #expect(try PropertyListValue(parsing: RawFile.read(agent.place.path(domain))) == ["key": "value"])
            }
        }
    }

    @Test("An agent told to exit answers earlier requests and their follow-ups before it closes connections")
    func answersAtTheEnd() throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            agent.signal(SIGSTOP)
            // The edit is conditional, so it waits for the file.
            try client.send([
                "type": "edit", "request": 2, "domain": "a.b", "set": ["k": "v"], "absent": ["k"],
                "time": .integer(Timestamp.now().nanoseconds),
            ])
            agent.signal(SIGTERM)
            agent.signal(SIGCONT)
            #expect(try client.answer() == "edited")
            try client.send(["type": "synchronize", "request": 3, "domains": [["domain": "a.b"]]])
            #expect(try client.answer() == "synchronized")
            #expect(try client.answer() == "closed")
            #expect(try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b"))) == ["k": "v"])
            #expect(agent.status(within: 30) == 0)
        }
    }

    @Test("An agent that gets many signals while exiting saves pending edits and exits with status 0")
    func manySignals() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let client = try RawClient.greeted(agent.place.socket)
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["key": "value"], replacesAll: false)
            agent.signal(SIGTERM)
            let isEnding = eventually { !RawFile.exists(agent.place.socket) }
            #expect(isEnding)
            // Repeated requests delay the save by up to a second. The signals arrive meanwhile.
            var number: Int64 = 1
            func isAnswered() throws -> Bool {
                guard (try? client.send(["type": "status", "request": .integer(number)])) != nil else { return false }
                return try client.receive() != nil
            }
            while try isAnswered() {
                agent.signal([SIGTERM, SIGINT][Int(number % 2)])
                number += 1
            }
            #expect(number > 2)
            #expect(agent.status(within: 30) == 0)
            #expect(try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b"))) == ["key": "value"])
            #expect(!RawFile.exists(agent.place.socket))
        }
    }

    /// Sends SIGHUP and waits until the agent's watcher has noted it.
    private static func rescan(_ agent: AgentProcess) throws {
        let before = try Fields(agent.status()).dictionary("watch")["rescans"]
        agent.signal(SIGHUP)
        let isNoted = try eventually { try Fields(agent.status()).dictionary("watch")["rescans"] != before }
        try #require(isNoted)
    }

    @Test("SIGHUP makes the agent rescan its files")
    func hangUp() throws {
        try AgentProcess.withAgent { agent in
            try Self.rescan(agent)
            #expect(agent.isRunning)
        }
    }

    @Test("`defaults status` shows the agent's state as text and as JSON")
    func status() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "key", "value")
            try agent.holdEdits()
            try agent.connect().edit(Domain(DomainName("c.d")), with: ["one": 1, "two": 2], replacesAll: false)
            try RawFile.write("oops", to: agent.place.path("e.f"))
            let follower = try agent.follow()
            let isTold = try eventually { try agent.status()["errors"] != [] }
            #expect(isTold)

            let json = try agent.defaults("status", "--json")
            #expect(json.status == 0 && json.errors == "")
            #expect(json.output.split(separator: "\n").count == 1)
            let status = try #require(
                try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(status["pid"] as? Int == Int(agent.pid))
            #expect(try #require(status["uptime"] as? Double) >= 0)
            #expect(status["version"] as? String == Version.current)
            #expect((status["executable"] as? String)?.hasSuffix("/defaultsd") == true)
            #expect(status["directory"] as? String == agent.place.preferences)
            #expect(status["socket"] as? String == agent.place.socket)
            let watch = try #require(status["watch"] as? [String: Any])
            #expect(watch["mode"] as? String == "inotify")
            #expect(watch["overflows"] as? Int == 0)
            #expect(status["domains"] as? Int == 4)
            let cursor = try Cursor(#require(status["cursor"] as? String))
            #expect(status["revision"] as? Int == Int(cursor.revision))
            let subscriber = try #require((status["subscribers"] as? [[String: Any]])?.first)
            #expect(subscriber["pid"] as? Int == Int(getpid()))
            #expect(subscriber["version"] as? String == Version.current)
            #expect(subscriber["lag"] as? Int == 0)
            let pending = try #require(status["pending"] as? [[String: Any]])
            #expect(pending.count == 1)
            #expect(pending.first?["domain"] as? String == "c.d" && pending.first?["edits"] as? Int == 2)
            let errors = try #require(status["errors"] as? [[String: Any]])
            #expect(errors.count == 1)
            #expect((errors.first?["message"] as? String)?.hasPrefix(agent.place.path("e.f")) == true)

            let text = try agent.defaults("status").output
            for part in [
                "pid \(agent.pid), version \(Version.current), up", "/defaultsd\n",
                "directory    \(agent.place.preferences)\n",
                "watching     inotify (", "domains      4\n", "revision     \(cursor.revision) (cursor \(cursor))\n",
                "subscribers  pid \(getpid()) ", "; 0 behind\n", "pending      c.d: 2 edits not saved yet\n",
                "errors       e.f: \(agent.place.path("e.f"))",
            ] {
                #expect(text.contains(part), "\(text)")
            }
            withExtendedLifetime(follower) {}
        }
    }

    @Test("`defaults status` without an agent says so and exits with status 69")
    func noStatus() throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.run(Programs.defaults, ["status"], environment: place.environment)
            #expect(outcome.status == 69 && outcome.output == "")
            #expect(outcome.errors.hasPrefix("defaults: No agent serves \(place.preferences)"))
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("Changed settings apply immediately, and invalid ones are logged and keep their defaults")
    func settings() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", AgentSettings.domainName, "LogLevel", "debug")
            try Self.rescan(agent)
            // A barrier: the scan is logged before the level changes again.
            try agent.synchronize()
            try agent.defaults("write", AgentSettings.domainName, "LogLevel", "loud")
            try agent.defaults("write", AgentSettings.domainName, "SaveDelay", "-int", "-7")
            try agent.defaults("write", AgentSettings.domainName, "PublishDelai", "-int", "7")
            try agent.defaults("write", AgentSettings.domainName, "SaveLimit", "soon")
            // With the default delay, an edit is saved soon even if no client waits for it.
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["key": "value"], replacesAll: false)
            let isSaved = eventually { RawFile.exists(agent.place.path("a.b")) }
            #expect(isSaved)
            agent.terminate()
            let log = agent.complaints()
            #expect(log.contains("debug defaultsd: [defaultsd] Reloading all files: requested"), "\(log)")
            #expect(log.contains("warning defaultsd: [defaultsd] LogLevel must be one of trace, debug,"))
            #expect(log.contains("SaveDelay must be an integer from 0 to 60000."))
            #expect(log.contains("SaveLimit must be an integer from 0 to 60000."))
            #expect(log.contains("PublishDelai isn't a setting of the agent."))
        }
    }

    @Test("SaveDelay delays saves from the time it is set until it is removed")
    func publishDelay() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            let connection = try agent.connect()
            try connection.edit(Domain(DomainName("a.b")), with: ["key": "value"], replacesAll: false)
            #expect(try agent.status()["pending"] == [["domain": "a.b", "edits": 1]])
            try agent.defaults("delete", AgentSettings.domainName)
            try agent.synchronize()
            #expect(try agent.status()["pending"] == [])
            try connection.edit(Domain(DomainName("c.d")), with: ["key": "value"], replacesAll: false)
            let isSaved = eventually { RawFile.exists(agent.place.path("c.d")) }
            #expect(isSaved)
        }
    }

    @Test("An agent with invalid settings starts and logs what is wrong")
    func wrongAtTheStart() throws {
        try AgentProcess.withAgent(prepare: {
            try RawFile.write("{HoldDelay = soon;}", to: $0.path(AgentSettings.domainName))
        }) { agent in
            agent.terminate()
            #expect(agent.complaints().contains("HoldDelay must be an integer"))
        }
        try AgentProcess.withAgent(prepare: { try RawFile.write("oops", to: $0.path(AgentSettings.domainName)) }) {
            agent in
            agent.terminate()
            #expect(agent.complaints().contains(agent.place.path(AgentSettings.domainName)))
        }
    }

    @Test("The agent rejects an invalid command line with status 64")
    func usage() throws {
        for arguments in [["--log-level", "loud"], ["--what"], ["surplus"]] {
            let outcome = try Programs.run(Programs.defaultsd, arguments)
            #expect(outcome.status == 64)
            #expect(outcome.errors.hasPrefix("Error: "))
        }
        let version = try Programs.run(Programs.defaultsd, ["--version"])
        #expect(version.status == 0 && version.output.contains("protocol 2"))
    }
}
