import Testing

@testable import DefaultsCommand

/// The decisions of `tail` about starting an agent.
@Suite("The start of an agent by `tail`")
struct AgentStartTests {
    private static let now = ContinuousClock.now

    private static func start(in delay: Duration = .zero, hasOwn: Bool = false) -> AgentStart {
        AgentStart(at: now, delay: delay, hasOwn: hasOwn)
    }

    @Test("The first command starts an agent at once, and gives it a minute to answer")
    func first() {
        var start = Self.start()
        #expect(start.step(at: Self.now, isPresent: false) == .start)
        #expect(start.step(at: Self.now + .seconds(59), isPresent: false) == .wait)
        #expect(start.step(at: Self.now + .seconds(60), isPresent: false) == .giveUp)
    }

    @Test("A command that reconnects leaves a supervisor time, and then starts an agent once")
    func delayed() {
        var start = Self.start(in: .seconds(5))
        #expect(start.step(at: Self.now + .milliseconds(4_999), isPresent: false) == .wait)
        #expect(start.step(at: Self.now + .seconds(5), isPresent: false) == .start)
        #expect(start.step(at: Self.now + .seconds(6), isPresent: false) == .wait)
    }

    @Test("No agent is started while one accepts connections and drops them, for ten seconds at most")
    func obstacle() {
        var start = Self.start()
        #expect(start.step(at: Self.now + .seconds(9), isPresent: true) == .wait)
        #expect(start.step(at: Self.now + .seconds(10), isPresent: true) == .giveUp)
    }

    @Test("No agent is started while the command's own from an earlier connection still runs")
    func earlierAgent() {
        var start = Self.start(hasOwn: true)
        #expect(start.step(at: Self.now, isPresent: false) == .wait)
        #expect(start.end(with: 0, at: Self.now) == true)
        #expect(!start.wasRefused)
        #expect(start.step(at: Self.now, isPresent: false) == .wait)
        #expect(start.step(at: Self.now + .seconds(1), isPresent: false) == .start)
    }

    @Test("An agent that another one refuses is started again after growing delays, for five seconds")
    func refusals() {
        var start = Self.start()
        #expect(start.step(at: Self.now, isPresent: false) == .start)
        #expect(start.end(with: ChildAgent.anotherAgentRuns, at: Self.now) == true)
        #expect(start.wasRefused)
        #expect(start.step(at: Self.now + .milliseconds(999), isPresent: false) == .wait)
        #expect(start.step(at: Self.now + .seconds(1), isPresent: false) == .start)
        #expect(start.end(with: ChildAgent.anotherAgentRuns, at: Self.now + .seconds(1)) == true)
        #expect(start.step(at: Self.now + .milliseconds(2_999), isPresent: false) == .wait)
        #expect(start.step(at: Self.now + .seconds(3), isPresent: false) == .start)
        #expect(start.end(with: 128 + 9, at: Self.now + .seconds(3)) == true)
        #expect(!start.wasRefused)
        #expect(start.step(at: Self.now + .seconds(5), isPresent: false) == .giveUp)
    }

    @Test("An agent that fails for a reason of its own isn't started again")
    func failure() {
        var start = Self.start()
        #expect(start.step(at: Self.now, isPresent: false) == .start)
        #expect(start.end(with: 1, at: Self.now) == false)
    }

    @Test("The pauses between attempts grow to 50 ms while an agent starts, and to 250 ms otherwise")
    func pauses() {
        var start = Self.start(in: .seconds(1))
        #expect((0..<6).map { _ in start.nextPause() } == [10, 20, 40, 80, 160, 250].map { .milliseconds($0) })
        #expect(start.step(at: Self.now + .seconds(1), isPresent: false) == .start)
        #expect((0..<4).map { _ in start.nextPause() } == [10, 20, 40, 50].map { .milliseconds($0) })
    }
}
