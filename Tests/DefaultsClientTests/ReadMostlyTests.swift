import Foundation
import Synchronization
import Testing

@testable import DefaultsClient

@Suite("Values that are read often and changed rarely")
struct ReadMostlyTests {
    /// Two numbers that are equal except during a change.
    private struct Pair: ~Copyable {
        var first = 0
        var second = 0
    }

    @Test("A reader never sees a partial change, and no change is lost")
    func consistency() {
        let value = ReadMostly(Pair())
        let mustEnd = Atomic(false)
        let torn = Atomic(0)
        let readers = DispatchGroup()
        for _ in 0..<4 {
            readers.enter()
            Thread.detachNewThread {
                while !mustEnd.load(ordering: .relaxed) {
                    if value.read({ $0.first != $0.second }) { torn.add(1, ordering: .relaxed) }
                }
                readers.leave()
            }
        }
        let writers = DispatchGroup()
        for _ in 0..<2 {
            writers.enter()
            Thread.detachNewThread {
                for _ in 0..<5_000 {
                    value.change {
                        $0.first += 1
                        sched_yield()
                        $0.second += 1
                    }
                }
                writers.leave()
            }
        }
        writers.wait()
        mustEnd.store(true, ordering: .relaxed)
        readers.wait()
        #expect(torn.load(ordering: .relaxed) == 0)
        #expect(value.read { $0.second } == 10_000)
    }

    @Test("A value is released with its container")
    func end() {
        final class Held: Sendable {}
        weak var held: Held?
        do {
            let object = Held()
            held = object
            let value = ReadMostly([object])
            #expect(value.read { $0.count } == 1)
        }
        #expect(held == nil)
    }
}
