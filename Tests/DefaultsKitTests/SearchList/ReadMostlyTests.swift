import Foundation
import Synchronization
import Testing

@testable import DefaultsKit

@Suite("A value that is read at once and changed now and then")
struct ReadMostlyTests {
    /// Two numbers that are equal but while they are changed.
    private struct Pair: ~Copyable {
        var first = 0
        var second = 0
    }

    @Test("No reader sees a change half made, and all that was changed is there")
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

    @Test("What it holds is let go with it")
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
