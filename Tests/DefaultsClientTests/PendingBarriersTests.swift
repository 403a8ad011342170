import DefaultsCore
import Testing

@testable import DefaultsClient

@Suite("Unfinished barriers")
struct PendingBarriersTests {
    private static let failure = DefaultsError(.notSaved, "The disk is full.")

    @Test("Barriers that arrive together share a request, which a new session repeats")
    func barriers() {
        let pending = PendingBarriers()
        let barriers = (0..<3).map { _ in Barrier(.durable) }
        pending.add([barriers[0], barriers[1]])
        pending.add([])
        pending.add([barriers[2]])
        #expect(pending.dequeueUnasked() == [1, 2])
        #expect(pending.dequeueUnasked() == [])
        pending.finish(1, with: [Self.failure])
        #expect(barriers[0].wait()?.failures == [Self.failure] && barriers[1].wait()?.failures == [Self.failure])
        let asked = Barrier(.durable)
        #expect(pending.add(asked: asked) == 3)
        #expect(pending.dequeueUnasked() == [])
        pending.beginSession()
        #expect(pending.dequeueUnasked() == [2, 3])
        pending.finish(3, with: [])
        #expect(asked.wait()?.failures == [])
        let ending = Barrier(.handedOver)
        pending.add([ending])
        #expect(pending.isHandingOver)
        #expect(pending.dequeueUnasked() == [])
        pending.finishAll()
        #expect(!pending.isHandingOver && ending.wait()?.failures == [] && barriers[2].wait()?.failures == [])
    }
}
