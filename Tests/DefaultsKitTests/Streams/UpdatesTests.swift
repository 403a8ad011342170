import DefaultsClient
import PropertyList
import Testing

@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var width: Self { Self("width", default: 1) }
    fileprivate static var height: Self { Self("height", default: 2) }
}

@Suite("Streams of updates", .timeLimit(.minutes(1)))
struct UpdatesTests {
    private let defaults = UserDefaults(inMemory: [:])

    @Test("A key's updates begin with its value and continue with each change")
    func oneKey() async {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        defaults[.width] = 5
        #expect(await updates.next() == 5)
        defaults.removeObject(forKey: "width")
        #expect(await updates.next() == 1)
    }

    @Test("A key's updates omit changes that don't affect its value")
    func unchanged() async {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        defaults[.width] = 5
        #expect(await updates.next() == 5)
        defaults[.width] = 5
        defaults[.height] = 7
        // The application's own value hides this one.
        defaults.register(defaults: ["width": 6])
        defaults[.width] = 8
        defaults[.width] = 5
        defaults[.width] = 9
        #expect(await updates.next() == 9)
    }

    @Test("Updates deliver the effective value from any layer")
    func layers() async {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        defaults.register(defaults: ["width": 3])
        #expect(await updates.next() == 3)
        defaults.setPersistentDomain(["width": 4], forName: UserDefaults.globalDomain)
        #expect(await updates.next() == 4)
        defaults.setPersistentDomain(["width": 5], forName: "suite")
        defaults.addSuite(named: "suite")
        #expect(await updates.next() == 5)
        defaults.setVolatileDomain(["width": 6], forName: UserDefaults.argumentDomain)
        #expect(await updates.next() == 6)
        defaults.removeSuite(named: "suite")
        defaults.removeVolatileDomain(forName: UserDefaults.argumentDomain)
        #expect(await updates.next() == 4)
    }

    @Test("A slow consumer of updates gets only the latest value")
    func newest() async {
        var updates = defaults.updates(of: .width).makeAsyncIterator()
        #expect(await updates.next() == 1)
        for number in 2...1_000 { defaults[.width] = number }
        #expect(await updates.next() == 1_000)
        defaults[.width] = 3
        #expect(await updates.next() == 3)
    }

    @Test("Updates of several keys are consistent with each other")
    func severalKeys() async {
        let updates = defaults.updates(of: .width, .height)
        let writer = Task.detached { [defaults] in
            for number in 1...2_000 {
                defaults.withTransaction { values in
                    values[.width] = number
                    values[.height] = -number
                }
            }
        }
        for await (width, height) in updates where (width, height) != (1, 2) {
            #expect(width == -height)
            if width == 2_000 { break }
        }
        await writer.value
    }

    @Test("A stream of updates ends when its task is canceled, before or during the wait")
    func cancellation() async {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task { [defaults] in
            var count = 0
            for await _ in defaults.updates(of: .width) {
                count += 1
                begin.yield()
            }
            return count
        }
        for await _ in begun { break }
        task.cancel()
        #expect(await task.value == 1)
        let late = Task { [defaults] in
            withUnsafeCurrentTask { $0?.cancel() }
            var count = 0
            for await _ in defaults.updates(of: .width) { count += 1 }
            return count
        }
        #expect(await late.value == 0)
    }

    @Test("All iterators get the same updates, and released ones are no longer observed")
    func iterations() async {
        let updates = defaults.updates(of: .width)
        do {
            var first = updates.makeAsyncIterator()
            var second = updates.makeAsyncIterator()
            _ = await (first.next(), second.next())
            defaults[.width] = 4
            #expect(await first.next() == 4)
            #expect(await second.next() == 4)
            #expect(defaults.list.isObserved)
        }
        #expect(defaults.list.isObserved == false)
    }

    @Test("Setting a key inside the loop over its updates causes the next update")
    func settingInside() async {
        for await width in defaults.updates(of: .width) {
            if width == 100 { break }
            defaults[.width] = width + 1
        }
        #expect(defaults[.width] == 100)
    }

    @Test("Snapshots contain all keys consistently")
    func snapshots() async {
        var snapshots = defaults.snapshots().makeAsyncIterator()
        #expect(await snapshots.next()?.values == [:])
        defaults.withTransaction { values in
            values[.width] = 3
            values[.height] = 4
        }
        let snapshot = await snapshots.next()
        #expect(snapshot?.values == ["width": 3, "height": 4])
        #expect(snapshot?[.width] == 3)
        defaults[.width] = 3
        defaults.resetAll()
        let last = await snapshots.next()
        #expect(last?.values == [:])
        #expect(last?[.width] == 1)
    }

    @Test("An update to a value that isn't equal to itself is delivered once")
    func notANumber() async {
        let key = DefaultsKey("real", default: 0.0)
        var updates = defaults.updates(of: key).makeAsyncIterator()
        #expect(await updates.next() == 0)
        defaults[key] = .nan
        #expect(await updates.next()?.isNaN == true)
        defaults[key] = .nan
        defaults[.width] = 2
        defaults[key] = 1
        #expect(await updates.next() == 1)
    }
}
