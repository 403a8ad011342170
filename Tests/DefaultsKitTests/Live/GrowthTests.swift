import DefaultsCore
import Linux
import PropertyList
import Testing

@testable import DefaultsKit

/// Programs with thousands of instances: what a call costs doesn't depend on how many there are.
@Suite("Thousands of instances", .serialized, .timeLimit(.minutes(2)))
struct GrowthTests {
    private static let count = 20_000

    /// The seconds that a body takes.
    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        try ContinuousClock().measure { try body() } / .seconds(1)
    }

    @Test("A value is set among them, and they are released, in no time")
    func instances() throws {
        let live = LiveDomains(inMemory: [:])
        var instances = try (0..<Self.count).map { try #require(UserDefaults(suiteName: "a.n\($0)", in: live)) }
        for instance in instances { #expect(instance.object(forKey: "k") == nil) }
        // Where each takes time in proportion to the instances, it is 10 s.
        let setting = seconds { for number in 0..<300 { instances[7].set(number, forKey: "k") } }
        #expect(setting < 3)
        #expect(instances[7].integer(forKey: "k") == 299)
        let releasing = seconds { instances = [] }
        #expect(releasing < 3)
        #expect(live.state.withLock { $0.lists.count } == 0)
    }

    @Test("Typed keys that are read once each are not all kept")
    func typedKeys() {
        let defaults = UserDefaults(inMemory: [:])
        var tracked: Set<ObjectIdentifier> = []
        for number in 0..<5_000 {
            #expect(defaults[DefaultsKey("k\(number)", default: 3)] == 3)
            tracked.insert(ObjectIdentifier(defaults.list.track("k\(number)")))
        }
        #expect(tracked.count < 2_000)
    }

    @Test("Thousands of edits are noted as saved one domain at a time in no time")
    func saving() throws {
        var unsaved = UnsavedEdits()
        let domains = try (0..<Self.count).map { Domain(try DomainName("a.n\($0)")) }
        let time = Timestamp(nanoseconds: 1)
        for domain in domains {
            _ = unsaved.add(UnsavedEdit(domain: domain, values: ["k": 1], replacing: [:], time: time))
        }
        for request in unsaved.takeUnasked(session: 1) { _ = unsaved.accept(request.identity?.number ?? 0) }
        #expect(unsaved.isAccepted)
        // Where each takes time in proportion to the edits, it is a minute.
        let saving = seconds { for domain in domains.reversed() { unsaved.save(domain, upTo: unsaved.last) } }
        #expect(saving < 3)
        #expect(unsaved.isEmpty)
    }
}
