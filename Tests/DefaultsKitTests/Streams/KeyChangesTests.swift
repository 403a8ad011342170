import PropertyList
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var width: Self { Self("width", default: 1) }
}

@Suite("Changes to one key", .timeLimit(.minutes(1)))
struct KeyChangesTests {
    private let defaults = UserDefaults(inMemory: [:])

    private func expect(_ old: Int, _ new: Int) -> KeyChange<Int> {
        KeyChange(key: "width", oldValue: old, newValue: new)
    }

    @Test("A consumer gets every value of a key together with the previous one")
    func each() async {
        var changes = defaults.changes(of: .width).makeAsyncIterator()
        for width in 2...100 { defaults[.width] = width }
        defaults[.width] = 100
        defaults.set(5, forKey: "height")
        defaults.reset(.width)
        for width in 2...100 { #expect(await changes.next() == expect(width - 1, width)) }
        #expect(await changes.next() == expect(100, 1))
    }

    @Test("A change in any layer is reported unless a layer with precedence hides it")
    func layers() async {
        var changes = defaults.changes(of: .width).makeAsyncIterator()
        defaults.register(defaults: ["width": 3])
        #expect(await changes.next() == expect(1, 3))
        defaults.setPersistentDomain(["width": 4], forName: UserDefaults.globalDomain)
        #expect(await changes.next() == expect(3, 4))
        defaults.register(defaults: ["width": 5])
        defaults.setPersistentDomain(["width": 6], forName: "suite")
        defaults.addSuite(named: "suite")
        #expect(await changes.next() == expect(4, 6))
        defaults.setVolatileDomain(["width": 7], forName: UserDefaults.argumentDomain)
        #expect(await changes.next() == expect(6, 7))
    }

    @Test("A value from before the iteration isn't a change, even if it was never read")
    func beginning() async {
        let defaults = UserDefaults(inMemory: ["width": 5])
        var changes = defaults.changes(of: .width).makeAsyncIterator()
        defaults[.width] = 6
        #expect(await changes.next() == expect(5, 6))
    }

    @Test("Changes by several threads form an unbroken chain")
    func concurrent() async {
        var changes = defaults.changes(of: .width).makeAsyncIterator()
        let defaults = defaults
        await withTaskGroup(of: Void.self) { group in
            for writer in 1...4 {
                group.addTask { for round in 1...200 { defaults[.width] = 1_000 * writer + round } }
            }
        }
        var last = 1
        for _ in 0..<800 {
            let change = await changes.next()
            #expect(change?.oldValue == last)
            last = change?.newValue ?? 0
        }
        #expect(last == defaults[.width])
    }

    @Test("A slow consumer gets the changes beyond the limit as one, up to the latest value")
    func bounded() async {
        var changes = defaults.changes(of: .width).makeAsyncIterator()
        for width in 2...5_000 { defaults[.width] = width }
        for width in 2..<(1 + PendingChanges.capacity) { #expect(await changes.next() == expect(width - 1, width)) }
        #expect(await changes.next() == expect(PendingChanges.capacity, 5_000))
        defaults[.width] = 7
        #expect(await changes.next() == expect(5_000, 7))
    }

    @Test("A stream of a key's changes ends when its task is canceled")
    func cancelled() async {
        let defaults = defaults
        let reader = Task {
            var count = 0
            for await _ in defaults.changes(of: .width) { count += 1 }
            return count
        }
        reader.cancel()
        #expect(await reader.value == 0)
    }
}
