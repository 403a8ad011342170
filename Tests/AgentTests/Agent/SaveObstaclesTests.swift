import DefaultsCore
import NIOCore
import Testing

@testable import defaultsd

@Suite("Obstacles to a save")
struct SaveObstaclesTests {
    private let domain: Domain
    private let start = NIODeadline.now()
    private let open = DefaultsError(.openForWriting, "It is open.")
    private let locked = DefaultsError(.locked, "It is locked.")

    init() throws {
        domain = Domain(try DomainName("org.example.app"))
    }

    private func time(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

    @Test("A file that stays open for a second is replaced anyway")
    func openForASecond() {
        var obstacles = SaveObstacles()
        for milliseconds in stride(from: Int64(0), through: 990, by: 10) {
            #expect(obstacles.policy(for: domain, at: time(milliseconds)) == .report)
            obstacles.record(open, of: domain, at: time(milliseconds))
        }
        #expect(obstacles.policy(for: domain, at: time(1_000)) == .override)
        obstacles.remove(domain)
        #expect(obstacles.policy(for: domain, at: time(1_010)) == .report)
    }

    @Test("A file that is closed and opened again may stay open for another second")
    func openedAgain() {
        var obstacles = SaveObstacles()
        obstacles.record(open, of: domain, at: time(0))
        obstacles.recordChange(of: domain)
        #expect(obstacles.policy(for: domain, at: time(1_200)) == .report)
        obstacles.record(open, of: domain, at: time(1_300))
        #expect(obstacles.policy(for: domain, at: time(2_290)) == .report)
        #expect(obstacles.policy(for: domain, at: time(2_300)) == .override)
    }

    @Test("A file that is opened again and again is replaced after five seconds")
    func openedAllTheTime() {
        var obstacles = SaveObstacles()
        for milliseconds in stride(from: Int64(0), through: 4_990, by: 10) {
            #expect(obstacles.policy(for: domain, at: time(milliseconds)) == .report)
            obstacles.recordChange(of: domain)
            obstacles.record(open, of: domain, at: time(milliseconds))
        }
        #expect(obstacles.policy(for: domain, at: time(5_000)) == .override)
    }

    @Test("A lock in the way doesn't restart the second that a file may stay open")
    func lockedMeanwhile() {
        var obstacles = SaveObstacles()
        obstacles.record(open, of: domain, at: time(0))
        obstacles.record(locked, of: domain, at: time(500))
        #expect(obstacles.policy(for: domain, at: time(1_000)) == .override)
    }

    @Test("Obstacles of any kind are too long after ten seconds", arguments: [[0], [1], [0, 1]])
    func tooLong(_ kinds: [Int]) {
        var obstacles = SaveObstacles()
        let errors = [locked, open]
        for second in 0..<10 {
            #expect(!obstacles.areTooLong(of: domain, at: time(Int64(second) * 1_000)))
            obstacles.record(errors[kinds[second % kinds.count]], of: domain, at: time(Int64(second) * 1_000))
        }
        #expect(obstacles.areTooLong(of: domain, at: time(10_000)))
    }
}
