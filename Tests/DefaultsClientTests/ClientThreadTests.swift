import DefaultsCore
import Linux
import PropertyList
import Testing

@testable import DefaultsClient

/// The pure parts of the client's thread.
@Suite("State of the client's thread")
struct ClientThreadTests {
    private static let start = MonotonicTime(milliseconds: 1_000)

    private static func domains(_ count: Int) throws -> Set<Domain> {
        Set(try (0..<count).map { Domain(try DomainName("a.n\($0)")) })
    }

    private static let failure = DefaultsError(.notSaved, "The disk is full.")

    // MARK: Attempts

    @Test("A silent agent is reported once, and tried again after pauses that double")
    func silence() {
        var attempts = AgentAttempts()
        #expect(attempts.areDue(at: Self.start))
        var now = Self.start
        for pause in [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000] as [Int64] {
            #expect(attempts.recordSilence(at: now) == (now == Self.start))
            #expect(!attempts.areDue(at: now + (pause - 1)))
            now = now + pause
            #expect(attempts.areDue(at: now))
        }
        attempts.recordResponse()
        let isReportedAgain = attempts.recordSilence(at: now)
        #expect(isReportedAgain)
        #expect(attempts.areDue(at: now + 30_000))
    }

    // MARK: Save checks

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
        #expect(checks.record([], of: parts[0], at: Self.start, &events).isEmpty)
        #expect(!events.contains { if case .synchronized = $0 { true } else { false } })
        #expect(checks.record([], of: parts[1], at: Self.start, &events).isEmpty)
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
        let single = checks.record([Self.failure], of: parts[0], at: Self.start, &events)
        #expect(single.map(\.domains.count) == [1, 1, 1])
        for part in single {
            let failures = part.domains == [bad] ? [Self.failure] : []
            #expect(checks.record(failures, of: part, at: Self.start, &events).isEmpty)
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

    // MARK: Conditional edits

    private static func commit() throws -> Commit {
        Commit(domain: try #require(domains(1).first), values: ["k": .some(2)], expected: ["k": .some(1)])
    }

    @Test("Conditional edits are sent one at a time, and one whose condition fails here isn't sent")
    func conditionalEdits() throws {
        var queue = CommitQueue()
        let commits = try (0..<3).map { _ in try Self.commit() }
        queue.add(commits)
        let first = try #require(queue.begin(in: nil) { $0.barrier !== commits[0].barrier })
        #expect(first.commit.barrier === commits[1].barrier && first.number == 1)
        #expect(commits[0].barrier.wait()?.first?.code == .changed)
        #expect(queue.begin(in: nil) { _ in true } == nil)
        #expect(queue.finish().barrier === commits[1].barrier)
        let second = try #require(queue.begin(in: nil) { _ in true })
        #expect(second.commit.barrier === commits[2].barrier && second.number == 2)
        queue.abandon()
        #expect(queue.isEmpty)
        #expect(commits[2].barrier.wait()?.first?.code == .agentUnavailable)
    }

    @Test("A conditional edit under way is sent again only to an agent with the same log")
    func resumedEdit() throws {
        let (log, other) = (Epoch(value: 1), Epoch(value: 2))
        var queue = CommitQueue()
        #expect(queue.resume(in: log) == nil)
        let commit = try Self.commit()
        queue.add([commit])
        #expect(queue.begin(in: log) { _ in true }?.number == 1)
        #expect(queue.resume(in: log)?.number == 1)
        #expect(queue.resume(in: other) == nil)
        #expect(queue.isEmpty)
        #expect(commit.barrier.wait()?.first?.code == .agentUnavailable)
        // Without an agent there is no log that could show the outcome.
        let next = try Self.commit()
        queue.add([next])
        #expect(queue.begin(in: nil) { _ in true }?.number == 2)
        #expect(queue.resume(in: nil) == nil)
        #expect(next.barrier.wait()?.first?.code == .agentUnavailable)
    }

    // MARK: Barriers

    @Test("Barriers that arrive together share a request, which a new session repeats")
    func barriers() {
        let pending = PendingBarriers()
        let barriers = (0..<3).map { _ in Barrier(.durable) }
        pending.add([barriers[0], barriers[1]])
        pending.add([])
        pending.add([barriers[2]])
        #expect(pending.dequeueUnasked() == [1, 2])
        #expect(pending.dequeueUnasked() == [])
        pending.finish(1, [Self.failure])
        #expect(barriers[0].wait() == [Self.failure] && barriers[1].wait() == [Self.failure])
        let asked = Barrier(.durable)
        #expect(pending.add(asked: asked) == 3)
        #expect(pending.dequeueUnasked() == [])
        pending.beginSession()
        #expect(pending.dequeueUnasked() == [2, 3])
        pending.finish(3, [])
        #expect(asked.wait() == [])
        let ending = Barrier(.handedOver)
        pending.add([ending])
        #expect(pending.isHandingOver)
        #expect(pending.dequeueUnasked() == [])
        pending.finishAll()
        #expect(!pending.isHandingOver && ending.wait() == [] && barriers[2].wait() == [])
    }
}
