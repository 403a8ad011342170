import Glibc
import Linux
import Testing

@testable import DefaultsClient

@Suite("Calls that block", .timeLimit(.minutes(1)))
struct BlockingCallsTests {
    @Test("The calls of many tasks are made on one thread")
    func oneThread() async throws {
        let calls = BlockingCalls()
        let (gate, begun) = (Latch(), Latch())
        let threads = ForkSafeMutex<[pthread_t]>([])
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await calls.make {
                    begun.open()
                    _ = gate.wait()
                }
            }
            _ = await begun.opened()
            for _ in 0..<200 {
                group.addTask {
                    try await calls.make { threads.withLock { $0.append(pthread_self()) } }
                }
            }
            // The calls wait for the first one, so opening the gate early would only make the test weaker.
            while calls.count < 200 { await Task.yield() }
            gate.open()
            try await group.waitForAll()
        }
        let all = threads.withLock { $0 }
        #expect(all.count == 200 && Set(all).count == 1)
    }

    @Test("A task that is canceled gets the outcome nevertheless, and an error goes to its caller")
    func outcomes() async {
        struct Stop: Error {}
        let calls = BlockingCalls()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await calls.make { 1 }
        }
        #expect(await (try? task.value) == 1)
        await #expect(throws: Stop.self) { try await calls.make { throw Stop() } }
        #expect(await (try? calls.make { 2 }) == 2)
    }

    @Test("A forked child makes calls while its parent's are unfinished")
    func child() async throws {
        let calls = BlockingCalls()
        let (gate, begun) = (Latch(), Latch())
        let parent = Task {
            try await calls.make {
                begun.open()
                _ = gate.wait()
            }
        }
        _ = await begun.opened()
        calls.startOver()
        #expect(try await calls.make { 3 } == 3)
        gate.open()
        try await parent.value
    }
}
