import DefaultsCore
import Linux
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("Languages of a client", .timeLimit(.minutes(1)))
struct ClientLanguagesTests {
    @Test("A change of languages doesn't delay threads that wait for other values")
    func latches() {
        let client = Client(inMemory: [:])
        let latch = Latch()
        let wasOpen = ForkSafeMutex<Bool?>(nil)
        client.useLanguages { _ in
            let isOpen = latch.wait(milliseconds: 0)
            wasOpen.withLock { $0 = isOpen }
            return nil
        }
        client.transition { _ in
            var effects = ClientEffects()
            effects.languages = ["de"]
            effects.latches = [latch]
            return ((), effects)
        }
        #expect(wasOpen.withLock { $0 } == true)
    }
}
