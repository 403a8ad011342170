import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Cursors and edits, which outlive the agent.
@Suite("Restarts of the agent")
struct RestartTests {
    /// A way in which an agent ends.
    enum End: CaseIterable {
        case terminated
        case killed

        func apply(to agent: AgentProcess) {
            switch self {
            case .terminated: agent.terminate()
            case .killed: agent.kill()
            }
        }
    }

    @Test("A cursor survives a restart, and each later change is reported exactly once", arguments: End.allCases)
    func cursor(_ end: End) throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            let follower = try first.follow()
            _ = try follower.changes { try first.defaults("write", "a.b", "one", "1") }
            try first.defaults("write", "a.b", "two", "2")
            end.apply(to: first)

            let second = try AgentProcess(place)
            defer { second.kill() }
            let again = try second.follow(.after(follower.cursor))
            #expect(try again.changes() == ["a.b: two ->2 (app)"])
            #expect(try again.changes { try second.defaults("write", "a.b", "two", "3") } == ["a.b: two 2>3 (app)"])
        }
    }

    @Test(
        "After a restart, the agent reports files that changed, appeared or vanished meanwhile", arguments: End.allCases
    )
    func changesWhileAway(_ end: End) throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try first.defaults("write", "changed", "key", "before")
            try first.defaults("write", "same", "key", "before")
            try first.defaults("write", "gone", "key", "before")
            let follower = try first.follow()
            end.apply(to: first)
            try Programs.shell(
                "sed -i s/before/after/ changed.plist; cp changed.plist new.plist; rm gone.plist", in: place.preferences
            )

            let second = try AgentProcess(place)
            defer { second.kill() }
            let changes = try second.follow(.after(follower.cursor)).changes()
            #expect(
                changes.sorted() == [
                    "changed: key before>after (file)", "changed: unknown", "gone: key before>- (file)",
                    "gone: unknown", "new: key ->after (file)",
                ])
        }
    }

    @Test("An edit that a killed agent had not saved is saved by the next one and reported once")
    func unsavedEdits() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try first.holdEdits()
            let follower = try first.follow()
            let domain = try Domain(DomainName("a.b"))
            try first.connect().edit(domain, with: ["key": "unsaved"], replacesAll: false)
            first.kill()
            #expect(access(place.path("a.b"), F_OK) != 0, "The edit must still be pending.")

            let second = try AgentProcess(place)
            defer { second.kill() }
            let connection = try second.connect()
            #expect(try second.follow(.after(follower.cursor)).changes() == ["a.b: key ->unsaved (app)"])
            _ = try connection.barrier()
            #expect(try connection.snapshot(of: domain).values == ["key": "unsaved"])
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("a.b"))) == ["key": "unsaved"])
            #expect(try connection.barrier().cursor.revision == follower.cursor.revision + 1)
        }
    }

    @Test("An agent for another directory at the same socket adopts neither edits nor cursors")
    func anotherDirectory() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try first.holdEdits()
            let follower = try first.follow()
            try first.connect().edit(Domain(DomainName("a.b")), with: ["key": "unsaved"], replacesAll: false)
            first.kill()

            let other = AgentProcess.Place(preferences: place.runtime + "/other", runtime: place.runtime)
            #expect(mkdir(other.preferences, 0o700) == 0)
            let second = try AgentProcess(other)
            let domains = try second.connect().domains()
            #expect(domains.isEmpty)
            let again = try second.follow(.after(follower.cursor))
            let changes = try again.changes()
            #expect(changes == ["gap"])
            second.kill()

            // The edit is still with its own directory.
            let third = try AgentProcess(place)
            defer { third.kill() }
            let values = try third.connect().snapshot(of: Domain(DomainName("a.b"))).values
            #expect(values == ["key": "unsaved"])
        }
    }

    @Test("A damaged log begins a new epoch, and an old cursor gets a gap and then the values")
    func damagedLog() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            for number in 0..<5 { try first.defaults("write", "a.b", "key", "\(number)") }
            let follower = try first.follow()
            first.kill()
            var bytes = try RawFile.read(place.log())
            bytes[bytes.count / 2] ^= 0xFF
            try RawFile.write(bytes, to: place.log())

            let second = try AgentProcess(place)
            defer { second.kill() }
            let again = try second.follow(.after(follower.cursor))
            #expect(try again.changes() == ["gap", "a.b: initial"])
            #expect(again.cursor.epoch != follower.cursor.epoch)
        }
    }

    @Test("A subscriber that starts with a snapshot misses nothing and sees nothing twice")
    func snapshot() throws {
        try AgentProcess.withAgent { agent in
            let connection = try agent.connect()
            let domain = try Domain(DomainName("a.b"))
            for number in 0..<50 {
                try connection.edit(domain, with: ["n": .integer(Int64(number))], replacesAll: false)
            }
            let follower = try agent.follow(.snapshot)
            for number in 50..<100 {
                try connection.edit(domain, with: ["n": .integer(Int64(number))], replacesAll: false)
            }
            let events = try follower.events()
            guard case .initial(let snapshot)? = events.first else {
                Issue.record("The values must come first: \(events)")
                return
            }
            var value = snapshot.values["n"]
            #expect(value == 49)
            for case .record(let record, _) in events {
                guard case .change(let changeSet) = record.event, let change = changeSet.changes.first else { continue }
                #expect(change.old == value)
                value = change.new
            }
            #expect(value == 99)
        }
    }
}
