import DefaultsKit
import Foundation
import Testing

@Suite("Streams of updates over Foundation's class", .timeLimit(.minutes(1)))
struct StreamTests {
    private let suite: TemporarySuite
    private var defaults: UserDefaults { suite.defaults }

    init() throws {
        suite = try TemporarySuite()
    }

    /// Posts the notification that Apple's Foundation posts by itself after each of its own calls.
    private func announce() {
        #if os(Linux)
        NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults)
        #endif
    }

    @Test("A key's updates begin with its value and continue with each change")
    func oneKey() async {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        defaults[.width] = 5
        #expect(await updates.next() == 5)
        defaults[.width] += 1
        #expect(await updates.next() == 6)
        defaults.reset(.width)
        #expect(await updates.next() == 1)
    }

    @Test("A key's updates omit changes that don't affect its value, and values that a slow consumer missed")
    func unchanged() async {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        defaults[.height] = 7
        for width in 2...9 { defaults[.width] = width }
        #expect(await updates.next() == 9)
        defaults[.width] = 9
        defaults[.height] = 8
        defaults[.width] = 10
        #expect(await updates.next() == 10)
    }

    @Test("Updates include changes by Foundation's own calls and by other instances of the suite")
    func others() async throws {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        defaults.set(5, forKey: "width")
        announce()
        #expect(await updates.next() == 5)
        try #require(UserDefaults(suiteName: suite.name))[.width] = 6
        #expect(await updates.next() == 6)
        let key = DefaultsKey("registered-\(suite.name)", default: 5)
        var registered = defaults.updates(of: DefaultsKey(key.name, default: 0)).makeAsyncIterator()
        #expect(await registered.next() == 0)
        defaults.register(key)
        #expect(await registered.next() == 5)
    }

    @Test("Updates of several keys deliver the values that a transaction sets together")
    func severalKeys() async {
        var updates = defaults.updates(of: .width, .theme, .name).makeAsyncIterator()
        var element = await updates.next()
        #expect(element?.0 == 1 && element?.1 == .light && element?.2 == nil)
        defaults.withTransaction { values in
            values[.width] = 5
            values[.theme] = .dark
            values[.name] = "Ada"
        }
        element = await updates.next()
        #expect(element?.0 == 5 && element?.1 == .dark && element?.2 == "Ada")
    }

    @Test("A stream of several keys never sees half of a transaction")
    func wholeTransactions() async throws {
        let name = suite.name
        defaults.withTransaction { values in
            values[.width] = 0
            values[.height] = 0
        }
        let writer = Task.detached {
            guard let defaults = UserDefaults(suiteName: name) else { return }
            for number in 1...500 {
                defaults.withTransaction { values in
                    values[.width] = number
                    values[.height] = number
                }
            }
        }
        for await (width, height) in defaults.updates(of: .width, .height) {
            #expect(width == height)
            if width == 500 { break }
        }
        await writer.value
    }

    @Test("Snapshots hold the values of a list of keys, or of all")
    func snapshots() async {
        let keys = [AnyDefaultsKey(DefaultsKey<Int>.width), AnyDefaultsKey(DefaultsKey<Theme>.theme)]
        var some = defaults.updates(of: keys).makeAsyncIterator()
        var all = defaults.snapshots().makeAsyncIterator()
        var snapshot = await some.next()
        #expect(snapshot?.values.isEmpty == true)
        _ = await all.next()
        defaults.withTransaction { values in
            values[.width] = 5
            values[.height] = 6
        }
        snapshot = await some.next()
        #expect(snapshot?[.width] == 5)
        #expect(snapshot?[.height] == 2)
        #expect(snapshot?.values == ["width": 5])
        snapshot = await all.next()
        #expect(snapshot?[.height] == 6)
    }

    @Test("A stream ends when its task is canceled")
    func cancellation() async {
        let updates = defaults.updates(of: .width)
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var count = 0
            for await _ in updates {
                count += 1
                continuation.yield()
            }
            return count
        }
        for await _ in begun { break }
        task.cancel()
        #expect(await task.value == 1)
    }
}
