import DefaultsClient
import DefaultsCore
import Foundation
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("The history of an agent")
struct HistoryTests {
    @discardableResult
    private func defaults(_ agent: AgentProcess, _ arguments: String...) throws -> String {
        let outcome = try agent.run(arguments)
        #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
        return outcome.output
    }

    @Test("A reader finds the records of the first archive, although that is made while it reads")
    func firstArchive() throws {
        try AgentProcess.withAgent { place in
            try RawFile.replace(
                place.path("org.defaultsd.agent"),
                with: try PropertyListValue.dictionary(["LogRecords": 8, "LogBytes": 1_024]).write(as: .xml))
        } _: { agent in
            let connection = try agent.connect()
            let domain = Domain(try DomainName("org.a"))
            for value in 1...40 { try connection.edit(domain, with: ["n": .integer(Int64(value))], replacesAll: false) }
            #expect(eventually { (try? connection.history(HistoryRequest()))?.archive != nil })
            var history = try HistoryReader(AgentBeforeItsArchive(connection), matching: SubscriptionFilter())
            var revisions: [Revision] = []
            while let record = try history.next() { revisions.append(record.revision) }
            #expect(revisions == (1...40).reversed())
            #expect(history.problem == nil)
        }
    }

    @Test("`log` shows changes newest first, `undo` reverses the last one, and `redo` makes it again")
    func verbs() throws {
        try AgentProcess.withAgent { agent in
            for value in ["dark", "light"] { try defaults(agent, "write", "org.a", "theme", value) }
            let lines = try defaults(agent, "log").split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("2 ") == true && lines.first?.contains("\"dark\" → \"light\"") == true)
            #expect(try defaults(agent, "undo") == "org.a theme  \"light\" → \"dark\"\n")
            #expect(try defaults(agent, "read", "org.a", "theme") == "dark\n")
            #expect(try defaults(agent, "log", "-n", "1").contains("undo of 2"))
            #expect(try defaults(agent, "redo") == "org.a theme  \"dark\" → \"light\"\n")
            #expect(try defaults(agent, "undo", "--last", "2", "--dry-run") == "org.a theme  \"light\" → (none)\n")
            #expect(try defaults(agent, "read", "org.a", "theme", "--at", "1") == "dark\n")
            #expect(try defaults(agent, "read", "org.a", "theme", "--at", "0s") == "light\n")
            #expect(try agent.defaults("diff", "org.a", "--since", "1").output == "theme  \"dark\" → \"light\"\n")
            #expect(
                try defaults(agent, "log", "--by", "defaults", "-n", "1", "--json").contains("\"purpose\":\"redo\""))
            #expect(try defaults(agent, "log", "--by", "other") == "")
            #expect(try agent.defaults("redo").status == 1)
            for wrong in [["undo", "999"], ["undo", "org.none"], ["log", "--since", "0123456789abcdef:1"]] {
                let outcome = try agent.run(wrong)
                #expect(outcome.status != 0 && outcome.errors.contains("defaults: "), "\(wrong)")
            }
            #expect(try agent.defaults("log", "--since", "noon").status == 64)
        }
    }

    @Test("A client gets the newest version of the protocol that both sides speak")
    func versions() throws {
        try AgentProcess.withAgent { agent in
            for (newest, expected) in [(nil, 1), (1, 1), (2, 2), (7, 2)] as [(Int64?, Int64)] {
                let client = try RawClient(agent.place.socket)
                var hello: DomainValues = ["type": "hello", "request": 1, "protocol": 1, "client": "test"]
                hello["newest"] = newest.map { .integer($0) }
                try client.send(hello)
                #expect(try client.receive()?["protocol"] == .integer(expected))
            }
        }
    }

    @Test("A key that was changed later keeps its value, and `undo` says who changed it")
    func conflict() throws {
        try AgentProcess.withAgent { agent in
            try defaults(agent, "write", "org.a", "one", "1")
            try RawFile.replace(
                agent.place.path("org.a"), with: try PropertyListValue.dictionary(["one": "2"]).write(as: .xml))
            try agent.synchronize()
            let outcome = try agent.defaults("undo", "1")
            #expect(outcome.status == 1 && outcome.errors.contains("(file)"), "\(outcome.errors)")
            #expect(try defaults(agent, "read", "org.a", "one") == "2\n")
        }
    }

    @Test("The history outlives the agent, and a change made meanwhile is told as such")
    func restart() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try defaults(first, "write", "org.a", "key", "1")
            first.terminate()
            try RawFile.replace(
                place.path("org.a"), with: try PropertyListValue.dictionary(["key": "2"]).write(as: .xml))
            let second = try AgentProcess(place)
            defer { second.kill() }
            let log = try defaults(second, "log")
            #expect(log.contains("changed while no agent was running"))
            #expect(log.contains("(none) → \"1\""))
            let past = try second.defaults("read", "org.a", "key", "--at", "1")
            #expect(past.output == "1\n")
        }
    }

    @Test("The log that an older agent kept beside the socket is taken over, and cursors stay valid")
    func formerPlace() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try defaults(first, "write", "org.a", "key", "1")
            let cursor = try first.connect().welcome.cursor
            first.terminate()
            let log = try place.log()
            let former = "\(place.socket).\(try #require(log.split(separator: "/").last))"
            // A copy would continue under a new epoch.
            #expect(rename(log, former) == 0)
            let second = try AgentProcess(place)
            defer { second.kill() }
            #expect(try second.connect().welcome.cursor.epoch == cursor.epoch)
            #expect(RawFile.exists(log) && !RawFile.exists(former))
            #expect(try defaults(second, "log").contains("(none) → \"1\""))
        }
    }

    @Test(
        "The log beside the socket is removed only when the one that takes over is on the disk",
        .enabled(if: Injection.isPossible))
    func orderOfTakingOver() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try defaults(first, "write", "org.a", "key", "1")
            first.terminate()
            let log = try place.log()
            let former = "\(place.socket).\(Path.lastName(of: log))"
            #expect(rename(log, former) == 0)
            let (trace, new, directory) = (place.root + "/trace", log + ".new-1", Path.directory(of: log))
            let second = try AgentProcess(
                place, launcher: AttachedFault.launcher(at: [log, new, directory, former], nil, output: trace))
            second.kill()
            let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            let order = [
                ["fsync(", "<\(new)>"], ["rename(", "\"\(new)\"", "\"\(log)\""], ["fsync(", "<\(directory)>"],
                ["unlink(", "\"\(former)\""],
            ].map { parts in lines.firstIndex { line in parts.allSatisfy { line.contains($0) } } }
            #expect(!order.contains(nil) && order.compactMap(\.self) == order.compactMap(\.self).sorted(), "\(order)")
        }
    }

    @Test("A recorded profile makes the same changes elsewhere, once, and is pruned and undone")
    func profile() throws {
        try AgentProcess.withAgent { agent in
            let recording = try agent.start("record", "org.*")
            let isReady = try eventually { try agent.status()["subscribers"] != [] }
            #expect(isReady)
            try defaults(agent, "write", "org.a", "theme", "dark")
            try defaults(agent, "write", "org.b", "list", "-array", "x", "y")
            try defaults(agent, "write", "org.b", "gone", "1")
            try defaults(agent, "delete", "org.b", "gone")
            try agent.synchronize()
            recording.signal(SIGINT)
            let profile = agent.place.root + "/dark.plist"
            try RawFile.write(try recording.finish("").output, to: profile)
            try AgentProcess.withAgent { other in
                try defaults(other, "write", "org.a", "theme", "light")
                #expect(try defaults(other, "apply", profile, "--dry-run").contains("\"light\" → \"dark\""))
                #expect(try defaults(other, "read", "org.a", "theme") == "light\n")
                _ = try defaults(other, "apply", profile)
                #expect(try defaults(other, "read", "org.b", "list.1") == "y\n")
                #expect(try defaults(other, "apply", profile) == "")
                #expect(try defaults(other, "log", "-n", "1").contains("profile dark"))
                // The profile doesn't mention the theme anymore.
                let text = String(decoding: try RawFile.read(profile), as: UTF8.self)
                try RawFile.write(
                    text.replacingOccurrences(of: "<key>theme</key>", with: "<key>other</key>"), to: profile)
                _ = try defaults(other, "apply", profile, "--prune")
                #expect(try defaults(other, "read", "org.a", "theme") == "light\n")
                _ = try defaults(other, "apply", "--undo", "dark")
                #expect(try other.defaults("read", "org.b").status == 1)
                #expect(try defaults(other, "read", "org.a") == "{\n    theme = light;\n}\n")
                #expect(try other.defaults("apply", "--undo", "dark").status == 1)
            }
            for text in ["{ Domains = 1; }", "{ Domains = ( { Domain = \"a/b\"; } ); }", "{ a = 1; }"] {
                try RawFile.write(text, to: profile)
                let outcome = try agent.defaults("apply", profile)
                #expect(outcome.status == 65 && outcome.errors.contains("isn't a profile"), "\(outcome.errors)")
            }
        }
    }

    @Test(
        "`-currentHost` limits the verbs that work on the history to this host's values",
        .enabled(if: HostIdentifier.current() != nil))
    func currentHost() throws {
        try AgentProcess.withAgent { agent in
            for value in ["1", "2"] {
                try defaults(agent, "-currentHost", "write", "org.a", "host", "-int", value)
                try defaults(agent, "write", "org.a", "any", "-int", value)
            }
            try defaults(agent, "write", "org.a", "host", "-int", "7")
            #expect(try defaults(agent, "log", "org.a").split(separator: "\n").count == 5)
            let lines = try defaults(agent, "-currentHost", "log", "org.a").split(separator: "\n")
            #expect(lines.count == 2 && lines.allSatisfy { $0.contains(" host ") }, "\(lines)")
            let followed = try defaults(
                agent, "-currentHost", "tail", "--json", "--since", "1", "-n", "1", "org.a")
            #expect(followed.contains("\"new\":2") && !followed.contains("\"any\""), "\(followed)")
            for options in [["--all"], ["--since", "1"]] {
                let profile = try agent.run(["-currentHost", "record"] + options + ["org.a"]).output
                #expect(profile.contains("<key>host</key>") && !profile.contains("<key>any</key>"), "\(profile)")
            }
            #expect(try defaults(agent, "-currentHost", "undo").contains("2 → 1"))
            #expect(try defaults(agent, "-currentHost", "read", "org.a", "host") == "1\n")
            #expect(try defaults(agent, "read", "org.a", "host") == "7\n")
        }
    }

    @Test("Excluded keys leave no trace in the state directory")
    func secrets() throws {
        try AgentProcess.withAgent { agent in
            try defaults(agent, "write", "org.defaultsd.agent", "HistoryExcludes", "-array", "org.bank/password")
            try agent.synchronize()
            try defaults(agent, "write", "org.bank", "password", "hunter2")
            try defaults(agent, "write", "org.bank", "user", "ada")
            #expect(try !defaults(agent, "log").contains("hunter2"))
            agent.terminate()
            #expect(try Programs.shell("! grep -r hunter2 state", in: agent.place.root).status == 0)
            #expect(try Programs.shell("grep -rq ada state", in: agent.place.root).status == 0)
        }
    }
}

/// An agent that answers the first request for its history before it has an archive.
private final class AgentBeforeItsArchive: HistorySource {
    private let agent: AgentConnection
    private var hasAnswered = false

    init(_ agent: AgentConnection) { self.agent = agent }

    var system: SystemDirectories { agent.system }
    var end: Cursor { agent.end }

    func history(_ request: HistoryRequest) throws(DefaultsError) -> HistoryPage {
        var page = try agent.history(request)
        if !hasAnswered { page.archive = nil }
        hasAnswered = true
        return page
    }

    func snapshot(of domain: Domain, keys: [String]?) throws(DefaultsError) -> DomainSnapshot {
        try agent.snapshot(of: domain, keys: keys)
    }

    func domains() throws(DefaultsError) -> [Domain] { try agent.domains() }
    func snapshots() throws(DefaultsError) -> [DomainSnapshot] { try agent.snapshots() }
    func make(_ edit: EditRequest) throws(DefaultsError) -> Cursor { try agent.make(edit) }
    func synchronize(_ domain: Domain) throws(DefaultsError) { try agent.synchronize(domain) }
}
