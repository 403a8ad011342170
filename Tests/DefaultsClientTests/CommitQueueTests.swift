import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("Queue of conditional edits")
struct CommitQueueTests {
    private static func commit() throws -> Commit {
        Commit(domain: Domain(try DomainName("a.b")), values: ["k": .some(2)], expected: ["k": .some(1)])
    }

    @Test("Conditional edits are sent one at a time, and one whose condition fails here isn't sent")
    func conditionalEdits() throws {
        var queue = CommitQueue()
        let commits = try (0..<3).map { _ in try Self.commit() }
        queue.add(commits)
        let first = try #require(queue.begin(in: nil, after: 0) { $0.barrier !== commits[0].barrier })
        #expect(first.commit.barrier === commits[1].barrier && first.number == 1)
        #expect(commits[0].barrier.wait()?.failures.first?.code == .changed)
        #expect(queue.begin(in: nil, after: 0) { _ in true } == nil)
        #expect(queue.finish().barrier === commits[1].barrier)
        let second = try #require(queue.begin(in: nil, after: 0) { _ in true })
        #expect(second.commit.barrier === commits[2].barrier && second.number == 2)
        queue.abandon()
        #expect(queue.isEmpty)
        #expect(commits[2].barrier.wait()?.failures.first?.code == .agentUnavailable)
    }

    @Test("A conditional edit under way is sent again only to an agent with the same log")
    func resumedEdit() throws {
        let (log, other) = (Epoch(value: 1), Epoch(value: 2))
        var queue = CommitQueue()
        if let resumed = queue.resume(in: log) { Issue.record("\(resumed) was never sent.") }
        let commit = try Self.commit()
        queue.add([commit])
        #expect(queue.begin(in: log, after: 7) { _ in true }?.number == 1)
        guard case .sendAgain(let again, number: 1) = queue.resume(in: log), again.barrier === commit.barrier else {
            Issue.record("The edit isn't to be sent again.")
            return
        }
        guard case .fail(let failed, after: 7) = queue.resume(in: other), failed.barrier === commit.barrier else {
            Issue.record("The outcome isn't unknown.")
            return
        }
        #expect(queue.isEmpty)
        // Without an agent there is no log that could show the outcome.
        queue.add([try Self.commit()])
        #expect(queue.begin(in: nil, after: 8) { _ in true }?.number == 2)
        guard case .fail(_, after: 8) = queue.resume(in: nil) else {
            Issue.record("The outcome isn't unknown.")
            return
        }
    }
}
