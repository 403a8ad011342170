import PropertyList
import Testing

@testable import DefaultsKit

@Suite("Changes", .timeLimit(.minutes(1)))
struct ChangesTests {
    private let defaults = UserDefaults(inMemory: ["a": 1])

    private func change(_ event: DefaultsEvent?) -> DefaultsChange? {
        if case .change(let change)? = event { change } else { nil }
    }

    @Test("tell old and new values, who made them, and in which domain")
    func oldAndNew() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        defaults.set(2, forKey: "a")
        defaults.removeObject(forKey: "a")
        defaults.set("x", forKey: "b")
        var seen: [DefaultsChange] = []
        for _ in 0..<3 { seen.append(try #require(change(await changes.next()))) }
        #expect(seen.map { $0.keys.map(\.name) } == [["a"], ["a"], ["b"]])
        #expect(seen.map { $0.keys[0].old } == [1, 2, nil])
        #expect(seen.map { $0.keys[0].new } == [2, nil, "x"])
        #expect(seen.allSatisfy { $0.source == .thisProcess })
        #expect(seen[0].domain.name == UserDefaults.applicationIdentifier)
        #expect(Set(seen.map(\.cursor)).count == 3)
    }

    @Test("tell a transaction as one, with its keys in order, and not what was so already")
    func transaction() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        defaults.set(1, forKey: "a")
        defaults.transaction { values in
            values.set(1, forKey: "a")
            for key in ["z", "m", "b"] { values.set(.string(key), forKey: key) }
            values.removeObject(forKey: "none")
        }
        let event = try #require(change(await changes.next()))
        #expect(event.keys.map(\.name) == ["b", "m", "z"])
    }

    @Test("are of the domains that were asked for")
    func scopes() async throws {
        var own = defaults.changes(in: .application).makeAsyncIterator()
        var other = defaults.changes(in: .domain("other")).makeAsyncIterator()
        var all = defaults.changes(in: .searchList).makeAsyncIterator()
        defaults.setPersistentDomain(["k": 1], forName: "other")
        defaults.setPersistentDomain(["k": 2], forName: UserDefaults.globalDomain)
        defaults.set(3, forKey: "k")
        #expect(change(await own.next())?.keys.first?.new == 3)
        #expect(change(await other.next())?.keys.first?.new == 1)
        #expect(change(await all.next())?.keys.first?.new == 2)
        #expect(change(await all.next())?.keys.first?.new == 3)
    }

    @Test("that who is slow has missed are a gap, after which the newest come")
    func gap() async throws {
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        for number in 1...1_024 { defaults.set(-number, forKey: "k") }
        #expect(change(await changes.next())?.keys.first?.new == -1)
        for number in 2...1_024 { #expect(change(await changes.next())?.keys.first?.new == .integer(Int64(-number))) }
        for number in 1...1_030 { defaults.set(number, forKey: "k") }
        let event = await changes.next()
        guard case .gap? = event else {
            Issue.record("\(String(describing: event)) is no gap")
            return
        }
        var last = try #require(change(await changes.next())?.keys.first?.new)
        while last != 1_030 { last = try #require(change(await changes.next())?.keys.first?.new) }
    }

    @Test("end when the task is cancelled")
    func cancellation() async {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [defaults] in
            let changes = defaults.changes(in: .application)
            var iterator = changes.makeAsyncIterator()
            begin.yield()
            var count = 0
            while await iterator.next() != nil { count += 1 }
            return count
        }
        for await _ in begun { break }
        task.cancel()
        #expect(await task.value == 0)
    }

    @Test("of a domain that can't be are none, and told")
    func badName() async {
        let task = Task { [defaults] in
            for await _ in defaults.changes(in: .domain(UserDefaults.argumentDomain)) { return false }
            return true
        }
        task.cancel()
        #expect(await task.value)
    }

    @Test("let go of who has ended")
    func release() async {
        do {
            var changes = defaults.changes(in: .application).makeAsyncIterator()
            defaults.set(2, forKey: "a")
            _ = await changes.next()
            #expect(defaults.live.isObserved)
        }
        #expect(defaults.live.isObserved == false)
    }
}
