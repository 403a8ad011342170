import DefaultsCore
import PropertyList
import Synchronization
import Testing

@testable import DefaultsKit

@Suite("The languages of live domains", .timeLimit(.minutes(1)))
struct LiveDomainsLanguagesTests {
    @Test("keep nobody waiting for their values who waits for something else")
    func latches() {
        let live = LiveDomains(inMemory: [:])
        let latch = Latch()
        let wasOpen = Mutex<Bool?>(nil)
        live.useLanguages { _ in
            let isOpen = latch.wait(milliseconds: 0)
            wasOpen.withLock { $0 = isOpen }
            return nil
        }
        live.transition { _ in
            var effects = LiveEffects()
            effects.languages = ["de"]
            effects.latches = [latch]
            return ((), effects)
        }
        #expect(wasOpen.withLock { $0 } == true)
    }
}
