import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Pending edits in the agent while a foreign writer changes the same file: the later change wins, key by key.
@Suite("Merging with foreign writers")
struct MergeTests {
    private static let file = """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0">
        <dict><key>both</key><string>old</string><key>theirs</key><string>old</string></dict>
        </plist>

        """

    /// Runs a test with an agent that saves only when it is asked to, and a domain that both sides change.
    private func withHeldEdits(_ body: (AgentProcess, Follower) throws -> Void) throws {
        try AgentProcess.withAgent(prepare: {
            try Self.file.write(toFile: $0.path("a.b"), atomically: false, encoding: .utf8)
        }) {
            agent in
            try agent.holdEdits()
            try body(agent, try agent.follow())
        }
    }

    private func edit(_ agent: AgentProcess, _ values: Difference) throws {
        try agent.connect().edit(Domain(DomainName("a.b")), with: values, replacesAll: false)
    }

    /// Rewrites the file in place with Python's plistlib.
    private func pythonSets(_ assignments: String, _ agent: AgentProcess) throws {
        let outcome = try agent.shell(
            """
            python3 -c "
            import plistlib
            d = plistlib.load(open('a.b.plist', 'rb'))
            \(assignments)
            plistlib.dump(d, open('a.b.plist', 'wb'))"
            """)
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private func fileValues(_ agent: AgentProcess) throws -> DomainValues {
        let value = try PropertyListValue(parsing: RawFile.read(agent.place.path("a.b")))
        guard case .dictionary(let values) = value else { return [:] }
        return values
    }

    @Test("A file change later than a pending edit of the same key wins, and names the overruled edit")
    func fileIsLater() throws {
        try withHeldEdits { agent, follower in
            try edit(agent, ["both": "edit", "ours": "edit"])
            // File times advance in ticks. The file's change must get a later one.
            let edited = Timestamp.now()
            #expect(eventually { Timestamp.now() > edited })
            #expect(try fileValues(agent)["both"] == "old", "The edit must still be pending.")
            let changes = try follower.changes { try pythonSets("d['both'] = 'file'; d['theirs'] = 'file'", agent) }
            #expect(
                changes == [
                    "a.b: both old>edit, ours ->edit (app)",
                    "a.b: both edit>file, theirs old>file, both lost edit of app (file)",
                ])
            #expect(try fileValues(agent) == ["both": "file", "theirs": "file", "ours": "edit"])
        }
    }

    @Test("An edit that arrives during the save of another one is saved too, without being asked for")
    func whilePublishing() throws {
        try AgentProcess.withAgent { agent in
            let editor = try agent.connect()
            let domain = try Domain(DomainName("a.b"))
            for round in 0..<100 as Range<Int64> {
                for number in [2 * round, 2 * round + 1] {
                    try editor.edit(domain, with: ["n": .integer(number)], replacesAll: false)
                    // The value is in the file before its save has finished, and the next edit follows immediately.
                    let deadline = ContinuousClock.now + .seconds(10)
                    while (try? fileValues(agent)["n"]) != .integer(number) {
                        try #require(ContinuousClock.now < deadline, "\(number) isn't in the file")
                    }
                }
            }
        }
    }

    @Test("A pending edit is saved even if a conditional edit is refused meanwhile")
    func besideRefused() throws {
        try AgentProcess.withAgent { agent in
            let path = "\(agent.place.preferences)/\(DirectoryLock.fileName)"
            let lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(lock) }
            #expect(flock(lock, LOCK_EX) == 0)
            // The conditional edit waits for the lock.
            let refused = try RawClient.greeted(agent.place.socket)
            try refused.send([
                "type": "edit", "request": 2, "domain": "a.b", "set": ["k": "refused"], "remove": [], "time": 0,
                "replaces": false, "expected": ["k": "something"], "absent": [],
            ])
            // Once these are answered, the server has passed the conditional edit on.
            for _ in 0..<2 { _ = try agent.status() }
            try edit(agent, ["k": "kept"])
            unlink(path)
            #expect(flock(lock, LOCK_UN) == 0)
            let answer = try refused.answer()
            #expect(answer.hasPrefix("failure"), "\(answer)")
            #expect(eventually { (try? fileValues(agent)) == ["k": "kept"] })
        }
    }

    @Test("An edit later than a file change wins even if the agent sees the file afterwards")
    func editIsLater() throws {
        try withHeldEdits { agent, follower in
            let connection = try agent.connect()
            // The agent is stopped while the file changes and then the edit is made.
            agent.signal(SIGSTOP)
            try pythonSets("d['both'] = 'file'; d['theirs'] = 'file'", agent)
            let changed = Timestamp.now()
            #expect(eventually { Timestamp.now() > changed })
            try connection.send(
                .edit(
                    EditRequest(
                        domain: Domain(DomainName("a.b")), values: ["both": "edit", "ours": "edit"],
                        writer: .app(.current))))
            agent.signal(SIGCONT)
            // The agent may process the two in either order. The result is the same.
            _ = try follower.changes()
            #expect(try fileValues(agent) == ["both": "edit", "theirs": "file", "ours": "edit"])
            #expect(
                try connection.snapshot(of: Domain(DomainName("a.b"))).values
                    == ["both": "edit", "theirs": "file", "ours": "edit"])
        }
    }

    @Test("A removal wins or loses by its time, like any other change")
    func removals() throws {
        try withHeldEdits { agent, _ in
            try edit(agent, ["both": nil])
            let edited = Timestamp.now()
            #expect(eventually { Timestamp.now() > edited })
            try pythonSets("d['both'] = 'file'; del d['theirs']", agent)
            _ = try agent.connect().barrier()
            #expect(try fileValues(agent) == ["both": "file"])
        }
        try withHeldEdits { agent, _ in
            try edit(agent, ["both": "edit"])
            let edited = Timestamp.now()
            #expect(eventually { Timestamp.now() > edited })
            try pythonSets("del d['both']", agent)
            _ = try agent.connect().barrier()
            #expect(try fileValues(agent) == ["theirs": "old"])
        }
    }

    @Test("A foreign writer that loaded an older version does not delete keys set since then")
    func staleWriter() throws {
        try withHeldEdits { agent, follower in
            let writer = try ForeignProcess(
                python: """
                    import plistlib, sys
                    path = sys.argv[1]
                    d = plistlib.load(open(path, 'rb'))
                    print('loaded', flush=True)
                    sys.stdin.readline()
                    d['theirs'] = 'stale save'
                    plistlib.dump(d, open(path, 'wb'))
                    """, [agent.place.path("a.b")])
            #expect(writer.line() == "loaded")
            let changes = try follower.changes {
                try agent.defaults("write", "a.b", "ours", "newer")
                try agent.defaults("write", "a.b", "both", "newer")
                try writer.send("go on")
                try writer.remainder()
            }
            #expect(
                changes == [
                    "a.b: ours ->newer (app)", "a.b: both old>newer (app)",
                    "a.b: theirs old>stale save, both lost old of file, ours lost - of file (file)",
                ])
            #expect(try fileValues(agent) == ["both": "newer", "ours": "newer", "theirs": "stale save"])
        }
    }

    @Test("A foreign writer that writes its version a second time, unread, restores it")
    func writesAgain() throws {
        try withHeldEdits { agent, follower in
            let writer = try ForeignProcess(
                python: """
                    import plistlib, sys
                    path = sys.argv[1]
                    d = plistlib.load(open(path, 'rb'))
                    d['theirs'] = 'stale save'
                    print('loaded', flush=True)
                    while sys.stdin.readline():
                        plistlib.dump(d, open(path, 'wb'))
                        print('written', flush=True)
                    """, [agent.place.path("a.b")])
            #expect(writer.line() == "loaded")
            let changes = try follower.changes {
                try agent.defaults("write", "a.b", "both", "newer")
                try writer.send("write")
                #expect(writer.line() == "written")
                _ = try agent.connect().barrier()
                try agent.defaults("write", "a.b", "ours", "newer")
                try writer.send("write again")
                #expect(writer.line() == "written")
            }
            #expect(
                changes == [
                    "a.b: both old>newer (app)",
                    "a.b: theirs old>stale save, both lost old of file (file)",
                    "a.b: ours ->newer (app)",
                    "a.b: both newer>old, ours newer>- (file)",
                ])
            #expect(try fileValues(agent) == ["both": "old", "theirs": "stale save"])
        }
    }

    @Test("Edits and a foreign writer at full speed each keep their own keys, and the log has every step")
    func manyOfBoth() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            let writer = try ForeignProcess(
                python: """
                    import os, plistlib, sys
                    path = sys.argv[1]
                    for n in range(200):
                        try:
                            d = plistlib.load(open(path, 'rb'))
                        except FileNotFoundError:
                            d = {}
                        d['theirs%d' % n] = n
                        plistlib.dump(d, open(path + '.tmp~', 'wb'))
                        os.replace(path + '.tmp~', path)
                    """, [agent.place.path("a.b")])
            let connection = try agent.connect()
            let domain = try Domain(DomainName("a.b"))
            for number in 0..<200 {
                try connection.edit(domain, with: ["ours\(number)": .integer(Int64(number))], replacesAll: false)
            }
            try writer.remainder()
            var replayed: DomainValues = [:]
            for case .record(let record, _) in try follower.events() {
                guard case .change(let changeSet) = record.event else { continue }
                for change in changeSet.changes {
                    #expect(replayed[change.key] == change.old, "revision \(record.revision), \(change.key)")
                    replayed[change.key] = change.new
                }
            }
            var expected: DomainValues = [:]
            for number in 0..<200 {
                expected["ours\(number)"] = .integer(Int64(number))
                expected["theirs\(number)"] = .integer(Int64(number))
            }
            #expect(try connection.snapshot(of: domain).values == expected)
            #expect(try fileValues(agent) == expected)
            #expect(replayed == expected)
        }
    }
}
