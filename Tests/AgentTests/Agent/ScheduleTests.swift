import DefaultsCore
import NIOCore
import TestSupport
import Testing

@testable import defaultsd

@Suite("The engine's schedule")
struct ScheduleTests {
    private let domain: Domain
    private let start = NIODeadline.now()
    private var schedule = Schedule()

    init() throws {
        domain = Domain(try DomainName("org.example.app"))
    }

    private func time(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

    // MARK: Times

    @Test("Planning an item again makes it due at the earlier time, moving it at the later one as well")
    mutating func planned() {
        schedule.plan(.save(domain), at: time(20))
        schedule.plan(.save(domain), at: time(30))
        #expect(schedule[.save(domain)] == time(20))
        schedule.plan(.save(domain), at: time(10))
        #expect(schedule[.save(domain)] == time(10))
        schedule.move(.save(domain), to: time(40))
        #expect(schedule[.save(domain)] == time(40))
        schedule.remove(.save(domain))
        #expect(schedule[.save(domain)] == nil && schedule.next == nil)
    }

    @Test("Items are dequeued once, when they are due, the earliest first")
    mutating func dequeued() {
        schedule.plan(.reloadAll, at: time(20))
        schedule.plan(.maintainJournal, at: time(30))
        schedule.plan(.save(domain), at: time(10))
        #expect(schedule.next == time(10))
        let dequeued = [9, 20, 20].map { schedule.dequeueDue(at: time($0)) }
        #expect(dequeued == [[], [.save(domain), .reloadAll], []])
        #expect(schedule.items == [.maintainJournal] && schedule.next == time(30))
    }

    @Test("The next time is the earliest one after any sequence of changes")
    mutating func next() {
        var random = PseudoRandom(seed: 1)
        let items: [Schedule.Item] = [
            .reloadAll, .maintainJournal, .save(domain), .confirmLoss(domain), .examineDisplaced,
        ]
        for step in 0..<2_000 {
            let item = random.pick(items)
            let due = time(Int64(random.below(50)))
            switch random.below(5) {
            case 0: schedule.remove(item)
            case 1: schedule.move(item, to: due)
            case 2: _ = schedule.dequeueDue(at: time(Int64(random.below(10))))
            default: schedule.plan(item, at: due)
            }
            #expect(schedule.next == schedule.items.compactMap { schedule[$0] }.min(), "step \(step)")
        }
    }

    // MARK: Failures

    /// Returns the delays, in milliseconds, after consecutive failures of an item.
    private func delays(of item: Schedule.Item, count: Int) -> [Int64] {
        var schedule = schedule
        return (0..<count).map { _ in
            schedule.fail(item, at: start)
            defer { schedule.remove(item) }
            return schedule[item].map { ($0 - start).nanoseconds / 1_000_000 } ?? 0
        }
    }

    @Test("A failed item is retried after a second, and then twice as late each time, up to a minute")
    func failures() {
        for item in [Schedule.Item.save(domain), .reloadUnreadable(domain), .reloadAll, .maintainJournal] {
            #expect(
                delays(of: item, count: 8) == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000], "\(item)")
        }
        #expect(Schedule.delay(of: .reloadAll, after: 1_000_000) == .seconds(60))
    }

    @Test("A file that is open for writing is reloaded ten times in quick succession, then at growing intervals")
    func openFiles() {
        let quick = delays(of: .reloadOpen(domain), count: Schedule.maximumOpenReloads)
        #expect(quick == [1, 2, 4, 8, 16, 32, 50, 50, 50, 50])
        let all = delays(of: .reloadOpen(domain), count: Schedule.maximumOpenReloads + 7)
        #expect(all.dropFirst(quick.count) == [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000])
    }

    @Test("A displaced file that stays open is examined every five seconds in the end")
    func displacedFiles() {
        #expect(delays(of: .examineDisplaced, count: 5) == [1_000, 2_000, 4_000, 5_000, 5_000])
    }

    @Test("Failures are counted until the item succeeds, whether it is planned or not")
    mutating func counted() {
        schedule.fail(.save(domain), at: start)
        schedule.fail(.maintainJournal, at: start)
        let dequeued = schedule.dequeueDue(at: time(1_000))
        #expect(dequeued.count == 2 && schedule.items == [])
        #expect(schedule.failureCount(of: .save(domain)) == 1)
        schedule.fail(.save(domain), at: time(1_000))
        #expect(schedule[.save(domain)] == time(3_000))
        schedule.remove(.save(domain))
        #expect(schedule.failureCount(of: .save(domain)) == 2)
        #expect(Set(schedule.failedItems) == [.save(domain), .maintainJournal])
        schedule.succeed(.save(domain))
        #expect(schedule.failureCount(of: .save(domain)) == 0 && schedule.failedItems == [.maintainJournal])
        #expect(!schedule.hasFailed(.save(domain)) && schedule.hasFailed(.maintainJournal))
        schedule.fail(.save(domain), at: time(5_000))
        #expect(schedule[.save(domain)] == time(6_000))
    }

    @Test("A failure doesn't delay an item that is planned earlier, and a success leaves it planned")
    mutating func plannedEarlier() {
        schedule.plan(.save(domain), at: time(5))
        schedule.fail(.save(domain), at: start)
        #expect(schedule[.save(domain)] == time(5))
        schedule.succeed(.save(domain))
        #expect(schedule[.save(domain)] == time(5))
    }

    // MARK: Delayed saves

    @Test("Only the first of several collected edits needs the engine, and a later one only moves the time")
    func delayedSaves() {
        var saves = DelayedSaves()
        func end() -> NIODeadline? { saves.end(of: domain, pause: .milliseconds(10), limit: .milliseconds(25)) }
        #expect(end() == nil)
        var areFirst = [saves.add(domain, at: time(0))]
        #expect(end() == time(10))
        areFirst += [9, 18].map { saves.add(domain, at: time($0)) }
        #expect(end() == time(25))
        saves.remove(domain)
        #expect(end() == nil)
        areFirst.append(saves.add(domain, at: time(30)))
        #expect(areFirst == [true, false, false, true])
    }
}
