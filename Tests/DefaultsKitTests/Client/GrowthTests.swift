import DefaultsCore
import Glibc
import Linux
import PropertyList
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// Programs with thousands of instances.
///
/// The cost of a call must not depend on their number.
@Suite("Thousands of instances", .serialized, .timeLimit(.minutes(2)))
struct GrowthTests {
    private static let count = 20_000

    /// Returns the processor time of a body in seconds, which doesn't depend on what else the machine does.
    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        func used() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = used()
        try body()
        return used() - start
    }

    @Test("Setting a value and releasing instances stay fast with thousands of instances")
    func instances() throws {
        let client = Client(inMemory: [:])
        var instances = try (0..<Self.count).map { try #require(UserDefaults(suiteName: "a.n\($0)", in: client)) }
        for instance in instances { #expect(instance.object(forKey: "k") == nil) }
        // If the time grew with the number of instances, this would take 10 s.
        let setting = seconds { for number in 0..<300 { instances[7].set(number, forKey: "k") } }
        #expect(setting < 3)
        #expect(instances[7].integer(forKey: "k") == 299)
        let releasing = seconds { instances = [] }
        #expect(releasing < 3)
        #expect(client.state.withLock { $0.lists.count } == 0)
    }

    @Test("Typed keys that are read only once are not all kept in memory")
    func typedKeys() {
        let defaults = UserDefaults(inMemory: [:])
        var tracked: Set<ObjectIdentifier> = []
        for number in 0..<5_000 {
            #expect(defaults[DefaultsKey("k\(number)", default: 3)] == 3)
            tracked.insert(ObjectIdentifier(defaults.list.track("k\(number)")))
        }
        #expect(tracked.count < 2_000)
    }

    @Test("Thousands of edits are marked as saved quickly, one domain at a time")
    func saving() throws {
        var unsaved = UnsavedEdits()
        let domains = try (0..<Self.count).map { Domain(try DomainName("a.n\($0)")) }
        let time = Timestamp(nanoseconds: 1)
        for domain in domains {
            _ = unsaved.add(UnsavedEdit(domain: domain, values: ["k": 1], replacing: [:], time: time))
        }
        for request in unsaved.dequeueUnsent(session: 1) { _ = unsaved.accept(request.identity?.number ?? 0) }
        #expect(unsaved.unaccepted == 0)
        // If the time grew with the number of edits, this would take a minute.
        let saving = seconds {
            for domain in domains.reversed() { unsaved.removeSaved(of: domain, upTo: unsaved.last) }
        }
        #expect(saving < 3)
        #expect(unsaved.isEmpty)
    }
}
