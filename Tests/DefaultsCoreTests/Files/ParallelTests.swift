import Linux
import Testing

@Suite("Work on all cores")
struct ParallelTests {
    @Test("Each number is used exactly once, and all calls have ended on return", arguments: [0, 1, 2, 1000])
    func once(count: Int) {
        let calls = ForkSafeMutex([Int](repeating: 0, count: count))
        Parallel.perform(count) { number in calls.withLock { $0[number] += 1 } }
        #expect(calls.withLock { $0 } == [Int](repeating: 1, count: count))
    }
}
