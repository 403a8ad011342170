import DefaultsClient
import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsKit

@Suite("Streams of changes", .timeLimit(.minutes(1)))
struct ChangesTests {
    private let defaults = UserDefaults(inMemory: ["a": 1])

    private func change(_ event: DefaultsEvent?) -> DefaultsChange? {
        if case .change(let change)? = event { change } else { nil }
    }

    @Test("A change states its old and new values, source and domain")
    func oldAndNew() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        defaults.set(2, forKey: "a")
        defaults.removeObject(forKey: "a")
        defaults.set("x", forKey: "b")
        var seen: [DefaultsChange] = []
        for _ in 0..<3 { seen.append(try #require(change(try await changes.next()))) }
        #expect(seen.map { $0.changes.map(\.key) } == [["a"], ["a"], ["b"]])
        #expect(seen.map { $0.changes[0].oldValue } == [1, 2, nil])
        #expect(seen.map { $0.changes[0].newValue } == [2, nil, "x"])
        #expect(seen.allSatisfy { $0.source == .thisProcess })
        #expect(seen[0].domain.name == UserDefaults.applicationIdentifier)
        #expect(Set(seen.map(\.cursor)).count == 3)
    }

    @Test("A change set that has changed nothing is an event of its own", arguments: [true, false])
    func overruled(hasChange: Bool) throws {
        let domain = defaults.domain
        let lost = [Overruled(key: "a", value: 1, writer: .file, reason: .olderVersion(nil))]
        let changes = hasChange ? [DefaultsCore.KeyChange(key: "b", old: nil, new: 1)] : []
        let record = LogRecord(
            revision: 1, time: Timestamp(nanoseconds: 0),
            event: .change(ChangeSet(domain: domain, source: .file, changes: changes, overruled: lost)))
        let source = try defaults.source(of: .application).get()
        let cursor = DefaultsCore.Cursor(epoch: Epoch(value: 1), revision: 1)
        let event = try #require(DefaultsEvent(.record(record, cursor, isOwn: false), from: source))
        if case .overruled(let change) = event {
            #expect(!hasChange && change.overruled.map(\.key) == ["a"])
        } else {
            #expect(hasChange && change(event)?.overruled.map(\.reason) == [.olderVersion(nil)])
        }
    }

    @Test("A transaction is one change with sorted keys and without unchanged ones")
    func transaction() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        defaults.set(1, forKey: "a")
        defaults.withTransaction { values in
            values.set(1, forKey: "a")
            for key in ["z", "m", "b"] { values.set(.string(key), forKey: key) }
            values.removeObject(forKey: "none")
        }
        let event = try #require(change(try await changes.next()))
        #expect(event.changes.map(\.key) == ["b", "m", "z"])
    }

    @Test("Changes are delivered only for the requested domains")
    func scopes() async throws {
        var own = defaults.changes(in: .application).makeAsyncIterator()
        var other = defaults.changes(in: .domain("other")).makeAsyncIterator()
        var all = defaults.changes(in: .searchList).makeAsyncIterator()
        defaults.setPersistentDomain(["k": 1], forName: "other")
        defaults.setPersistentDomain(["k": 2], forName: UserDefaults.globalDomain)
        defaults.set(3, forKey: "k")
        #expect(change(try await own.next())?.changes.first?.newValue == 3)
        #expect(change(try await other.next())?.changes.first?.newValue == 1)
        #expect(change(try await all.next())?.changes.first?.newValue == 2)
        #expect(change(try await all.next())?.changes.first?.newValue == 3)
    }

    @Test("A slow consumer gets a gap for missed changes and then the latest ones")
    func gap() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        for number in 1...1_024 { defaults.set(-number, forKey: "k") }
        #expect(change(try await changes.next())?.changes.first?.newValue == -1)
        for number in 2...1_024 {
            #expect(change(try await changes.next())?.changes.first?.newValue == .integer(Int64(-number)))
        }
        for number in 1...1_030 { defaults.set(number, forKey: "k") }
        let event = try await changes.next()
        guard case .gap? = event else {
            Issue.record("\(String(describing: event)) isn't a gap")
            return
        }
        var last = try #require(change(try await changes.next())?.changes.first?.newValue)
        while last != 1_030 { last = try #require(change(try await changes.next())?.changes.first?.newValue) }
    }

    @Test("A stream of changes ends when its task is canceled")
    func cancellation() async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [defaults] in
            let changes = defaults.changes(in: .application)
            var iterator = changes.makeAsyncIterator()
            begin.yield()
            var count = 0
            while try await iterator.next() != nil { count += 1 }
            return count
        }
        for await _ in begun { break }
        task.cancel()
        #expect(try await task.value == 0)
    }

    @Test("The stream for a domain that is in no file ends with an error")
    func badName() async {
        let problem = await #expect(throws: DefaultsProblem.self) {
            for try await _ in defaults.changes(in: .domain(UserDefaults.argumentDomain)) {}
        }
        #expect(problem?.code == .name)
    }

    @Test("A cursor is created from its text, and from no other text")
    func cursors() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        defaults.set(2, forKey: "a")
        let cursor = try #require(change(try await changes.next())).cursor
        #expect(DefaultsChange.Cursor("\(cursor)") == cursor)
        #expect(DefaultsChange.Cursor("\(cursor)x") == nil)
    }

    @Test("A released stream is no longer observed")
    func release() async throws {
        do {
            var changes = defaults.changes(in: .application).makeAsyncIterator()
            defaults.set(2, forKey: "a")
            _ = try await changes.next()
            #expect(defaults.client.isObserved)
        }
        #expect(defaults.client.isObserved == false)
    }
}
