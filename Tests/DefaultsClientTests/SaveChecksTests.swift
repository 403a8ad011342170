import DefaultsCore
import Linux
import Testing

@testable import DefaultsClient

@Suite("Checks that edits are saved")
struct SaveChecksTests {
    private static let start = MonotonicTime(milliseconds: 1_000)
    private static let failure = DefaultsError(.notSaved, "The disk is full.")

    private static func domains(_ count: Int) throws -> Set<Domain> {
        Set(try (0..<count).map { Domain(try DomainName("a.n\($0)")) })
    }

    @Test("A round asks for up to 32 domains per request, and ends with its last answer")
    func round() throws {
        var checks = SaveChecks()
        let domains = try Self.domains(40)
        for (number, domain) in domains.sorted().enumerated() {
            checks.add(UInt64(number + 1), of: domain, at: Self.start)
        }
        #expect(checks.unsaved == domains && checks.next == Self.start + 1_200)
        let parts = checks.beginRound(domains, for: 5)
        #expect(parts.map(\.domains.count) == [32, 8])
        // An edit that was made after the round began isn't known to be saved by it.
        let late = try #require(domains.min())
        checks.add(41, of: late, at: Self.start)
        var events: [SessionEvent] = []
        #expect(checks.record([], of: parts[0], at: Self.start, into: &events).isEmpty)
        #expect(!events.contains { if case .synchronized = $0 { true } else { false } })
        #expect(checks.record([], of: parts[1], at: Self.start, into: &events).isEmpty)
        guard case .synchronized(5, let failures)? = events.last else {
            Issue.record("The round didn't end: \(events)")
            return
        }
        #expect(failures.isEmpty && checks.unsaved == [late])
    }

    @Test("A failed request is split to find the domain that can't be saved, and later rounds are split at once")
    func failedRound() throws {
        var checks = SaveChecks()
        let domains = try Self.domains(3)
        for domain in domains { checks.add(1, of: domain, at: Self.start) }
        let bad = try #require(domains.max())
        var events: [SessionEvent] = []
        let parts = checks.beginRound(domains, for: 9)
        let single = checks.record([Self.failure], of: parts[0], at: Self.start, into: &events)
        #expect(single.map(\.domains.count) == [1, 1, 1])
        for part in single {
            let failures = part.domains == [bad] ? [Self.failure] : []
            #expect(checks.record(failures, of: part, at: Self.start, into: &events).isEmpty)
        }
        #expect(checks.unsaved == [bad])
        #expect(events.contains { if case .synchronized(9, [Self.failure]) = $0 { true } else { false } })
        #expect(events.contains { if case .trouble(Self.failure) = $0 { true } else { false } })
        // Twice the first delay.
        #expect(checks.next == Self.start + 2_400)
        let (isEarly, isDue) = (
            checks.dequeueDue(at: Self.start + 2_399), checks.dequeueDue(at: Self.start + 2_400)
        )
        #expect(!isEarly && isDue)
        #expect(checks.beginRound(domains, for: nil).count == 3)
    }
}
