import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Promises of the bus")
struct SubscriptionTests {
    private let domain: Domain
    private let other: Domain

    init() throws {
        domain = try Domain("a")
        other = try Domain("b")
    }

    /// Returns all events up to the point where the subscriber is caught up and has received its bookmark.
    private func drain(_ subscription: inout Subscription, _ log: ChangeLog, limit: Int = 64) -> [StreamEvent] {
        var all: [StreamEvent] = []
        while true {
            let events = subscription.next(from: log, limit: limit)
            if events.isEmpty { return all }
            all += events
        }
    }

    private func subscribe(
        _ start: Subscription.Start = .now, to log: ChangeLog, _ mode: Subscription.Mode = .everything,
        filter: SubscriptionFilter = SubscriptionFilter()
    ) -> Subscription {
        Subscription(start, filter: filter, mode: mode, log: log)
    }

    @Test(
        "Ordered and unique: a subscriber receives each record once, in the order of revisions",
        arguments: [1, 7, 64, 1_000])
    func orderedAndUnique(limit: Int) {
        var log = ChangeLog()
        var subscription = subscribe(to: log)
        var revisions: [Revision] = []
        for step in Int64(0)..<30 {
            log.count(domain, step * 10 + 1...step * 10 + 10)
            for event in drain(&subscription, log, limit: limit) {
                if case .record(let record, let cursor) = event {
                    revisions.append(record.revision)
                    #expect(cursor == Cursor(epoch: log.epoch, revision: record.revision))
                }
            }
        }
        #expect(revisions == Array(1...300))
    }

    @Test("Atomic: a change set is delivered whole, under one revision", arguments: Subscription.Mode.allCases)
    func atomic(mode: Subscription.Mode) {
        var log = ChangeLog()
        var subscription = subscribe(to: log, mode)
        let changes = (0..<500).map { KeyChange(key: "\($0)", old: nil, new: 1) }
        log.append(.change(ChangeSet(domain: domain, source: .file, changes: changes)), at: Timestamp(nanoseconds: 0))
        let events = subscription.next(from: log, limit: 1)
        guard case .record(let record, _)? = events.first, case .change(let changeSet) = record.event else {
            Issue.record("No record was delivered.")
            return
        }
        #expect(changeSet.changes.count == 500)
    }

    @Test(
        "Gap-free: a subscriber that falls behind the ring receives an explicit gap and then a snapshot",
        arguments: [Subscription.Mode.latest, .everything])
    func explicitGap(mode: Subscription.Mode) {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
        var subscription = subscribe(to: log, mode)
        #expect(drain(&subscription, log).map(\.summary) == ["bookmark 0"])
        log.count(domain, 1...11)
        #expect(subscription.lag(in: log) == 11)
        #expect(subscription.next(from: log).map(\.summary) == ["gap 0 11", "snapshot 11"])
        log.count(domain, 12...12)
        #expect(drain(&subscription, log).map(\.summary) == ["record 12", "bookmark 12"])
    }

    @Test(
        "A subscriber that lags by the whole capacity of the ring misses nothing", arguments: Subscription.Mode.allCases
    )
    func ringEnd(mode: Subscription.Mode) {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
        var subscription = subscribe(to: log, mode)
        log.count(domain, 1...10)
        let events = drain(&subscription, log).map(\.summary)
        #expect(events == (mode == .latest ? ["record 10"] : (1...10).map { "record \($0)" }) + ["bookmark 10"])
    }

    @Test("The mode `disconnect` permanently ends a subscription that falls behind")
    func disconnect() {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
        var subscription = subscribe(to: log, .disconnect)
        log.count(domain, 1...11)
        #expect(subscription.next(from: log).map(\.summary) == ["gap 0 11", "ended"])
        log.count(domain, 12...12)
        #expect(subscription.next(from: log) == [])
    }

    @Test("The mode `latest` delivers net changes, regardless of the number of pending records")
    func latest() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, .latest)
        log.count(domain, 1...5_000)
        log.count(other, 1...5_000)
        let events = subscription.next(from: log, limit: 1)
        #expect(events.map(\.summary) == ["record 5000", "record 10000", "bookmark 10000"])
        guard case .record(let record, _)? = events.first else { return }
        #expect(record.event == .change(domain, "n", from: nil, to: 5_000))
    }

    @Test(
        "Resumable: a subscription resumed at any cursor delivers exactly the records after it",
        arguments: [0, 1, 63, 64, 65, 100] as [Revision])
    func resumable(revision: Revision) {
        var log = ChangeLog()
        log.count(domain, 1...100)
        var subscription = subscribe(.after(Cursor(epoch: log.epoch, revision: revision)), to: log)
        let expected = (revision..<100).map { "record \($0 + 1)" } + ["bookmark 100"]
        #expect(drain(&subscription, log).map(\.summary) == expected)
    }

    @Test(
        "Resumable: a subscription interrupted after any event resumes without loss, whatever changes in the meantime",
        arguments: Subscription.Mode.allCases)
    func resumableAfterEachEvent(mode: Subscription.Mode) {
        for seed in 0..<UInt64(200) {
            var random = PseudoRandom(seed: seed)
            var log = ChangeLog()
            var truth: [Domain: DomainValues] = [:]
            func change(_ count: Int) {
                for _ in 0..<count {
                    let (domain, key) = (random.pick([domain, other]), random.pick(["a", "b"]))
                    let new: PropertyListValue? = random.oneIn(3) ? nil : .integer(Int64(random.below(2)))
                    guard truth[domain]?[key] != new else { continue }
                    log.append(.change(domain, key, from: truth[domain]?[key], to: new), at: Timestamp(nanoseconds: 0))
                    truth[domain, default: [:]][key] = new
                }
            }
            var seen: [Domain: DomainValues] = [:]
            var place = log.cursor
            change(12)
            // It is interrupted again and again, and so may resume in the middle of a batch more than once.
            for _ in 0..<4 {
                var broken = subscribe(.after(place), to: log, mode)
                for event in broken.next(from: log).prefix(1 + random.below(3)) {
                    switch event {
                    case .record(let record, let cursor):
                        record.apply(to: &seen)
                        place = cursor
                    case .bookmark(let cursor): place = cursor
                    default: break
                    }
                }
                change(random.below(4))
            }
            var resumed = subscribe(.after(place), to: log, mode)
            for case .record(let record, _) in drain(&resumed, log) { record.apply(to: &seen) }
            #expect(seen.filter { !$1.isEmpty } == truth.filter { !$1.isEmpty }, "seed \(seed)")
        }
    }

    @Test("After a resumption, the first batch of net changes has the keys that are back at their first values, too")
    func unchangedKeys() {
        var log = ChangeLog()
        log.count(domain, 1...1)
        let resumption = log.cursor
        var (resumed, continuing) = (subscribe(.after(resumption), to: log, .latest), subscribe(to: log, .latest))
        _ = (resumed.next(from: log), continuing.next(from: log))
        log.count(domain, 2...2)
        log.append(.change(domain, "n", from: 2, to: 1), at: Timestamp(nanoseconds: 0))
        var again = subscribe(.after(resumption), to: log, .latest)
        let unchanged = LogRecord(
            revision: 3, time: Timestamp(nanoseconds: 0), event: .change(domain, "n", from: 1, to: 1))
        #expect(again.next(from: log) == [.record(unchanged, cursor: log.cursor), .bookmark(log.cursor)])
        // These two have received everything before, so they need nothing.
        #expect(resumed.next(from: log) == [])
        #expect(continuing.next(from: log) == [])
        log.count(domain, 2...2)
        log.append(.change(domain, "n", from: 2, to: 1), at: Timestamp(nanoseconds: 0))
        #expect(again.next(from: log) == [])
    }

    @Test("In a batch of net changes, only the last event advances the cursor")
    func placesOfNetChanges() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, .latest)
        func places() -> [[Revision]] {
            subscription.next(from: log).map {
                if case .record(let record, let cursor) = $0 { [record.revision, cursor.revision] } else { [] }
            }
        }
        log.count(domain, 1...1)
        log.count(other, 1...1)
        // Nothing is coalesced, so each event has its own cursor.
        #expect(places() == [[1, 1], [2, 2], []])
        log.count(domain, 2...2, key: "a")
        log.count(other, 2...2)
        log.count(domain, 2...2, key: "b")
        #expect(places() == [[4, 2], [5, 5]])
        log.append(.change(domain, "c", from: nil, to: 1), at: Timestamp(nanoseconds: 0))
        log.count(other, 3...3)
        log.append(.change(domain, "c", from: 1, to: nil), at: Timestamp(nanoseconds: 0))
        // After 7, the subscriber would see the removal of c, which it never saw set.
        #expect(places() == [[7, 8]])
    }

    @Test("A cursor of another log, or one ahead of this log, leads to an explicit gap", arguments: [true, false])
    func unknownEpoch(isOther: Bool) {
        var log = ChangeLog(epoch: Epoch(value: 5))
        log.count(domain, 1...3)
        let cursor = isOther ? Cursor(epoch: Epoch(value: 6), revision: 2) : Cursor(epoch: Epoch(value: 5), revision: 4)
        for mode in [Subscription.Mode.latest, .everything] {
            var subscription = subscribe(.after(cursor), to: log, mode)
            let events = subscription.next(from: log)
            #expect(events == [.gap(from: cursor, to: log.cursor)] + log.snapshots.map { .initial($0) })
            #expect(drain(&subscription, log).map(\.summary) == ["bookmark 3"])
        }
        var subscription = subscribe(.after(cursor), to: log, .disconnect)
        #expect(subscription.next(from: log).map(\.summary).last == "ended")
    }

    @Test(
        "A subscriber that resumes amid the first values, or those after a gap, gets all of them",
        arguments: [true, false])
    func interruptedValues(isGap: Bool) {
        var log = ChangeLog(epoch: Epoch(value: 5))
        log.count(domain, 1...3)
        let before = isGap ? Cursor(epoch: Epoch(value: 6), revision: 2) : .ofNoLog
        var subscription = subscribe(isGap ? .after(before) : .snapshot, to: log)
        let snapshots = [domain, other].map { DomainSnapshot(domain: $0, values: ["n": 3], cursor: log.cursor) }
        let cursors = subscription.next(in: subscription.portion(of: log), snapshots: snapshots)?.compactMap { event in
            if case .initial(let snapshot) = event { snapshot.cursor } else { nil }
        }
        #expect(cursors == [before, log.cursor])
        var again = subscribe(.after(before), to: log)
        #expect(again.next(from: log).map(\.summary).first == "gap \(before.revision) 3")
    }

    @Test("A subscription's stream starts right after its snapshot's revision", arguments: Subscription.Mode.allCases)
    func snapshot(mode: Subscription.Mode) {
        var log = ChangeLog()
        log.count(domain, 1...5)
        var subscription = subscribe(.snapshot, to: log, mode)
        // A change between subscribing and reading is in the snapshot.
        log.count(domain, 6...6)
        #expect(subscription.next(from: log).map(\.summary) == ["snapshot 6"])
        log.count(domain, 7...7)
        #expect(drain(&subscription, log).map(\.summary) == ["record 7", "bookmark 7"])
    }

    @Test("A snapshot request that waits past the end of the ring leads to a snapshot, not a gap")
    func lateSnapshot() {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 5))
        var subscription = subscribe(.snapshot, to: log, .disconnect)
        log.count(domain, 1...20)
        // Nothing was promised yet, so nothing was missed.
        #expect(subscription.next(from: log).map(\.summary) == ["snapshot 20"])
    }

    @Test(
        "Bookmarked: a subscriber gets one bookmark when it is first caught up, and then each event's own cursor",
        arguments: Subscription.Mode.allCases)
    func bookmarked(mode: Subscription.Mode) {
        var log = ChangeLog()
        log.count(domain, 1...3)
        var subscription = subscribe(.after(Cursor(epoch: log.epoch, revision: 2)), to: log, mode)
        #expect(subscription.next(from: log).map(\.summary) == ["record 3", "bookmark 3"])
        #expect(subscription.next(from: log) == [])
        log.count(domain, 4...4)
        #expect(subscription.next(from: log).map(\.summary) == ["record 4"])
        #expect(subscription.next(from: log) == [])
    }

    @Test("Bookmarked: a subscriber's cursor stays within the log even if no record passes its filter")
    func bookmarksOfFilteredRecords() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, filter: SubscriptionFilter(domains: [GlobPattern("a")]))
        #expect(subscription.next(from: log).map(\.summary) == ["bookmark 0"])
        for number: Int64 in 1...2_000 {
            log.count(other, number...number)
            let expected = number.isMultiple(of: 1_000) ? ["bookmark \(number)"] : []
            #expect(subscription.next(from: log).map(\.summary) == expected)
        }
    }

    @Test("Filtered: records that don't pass the filter advance the bookmark but aren't delivered")
    func filtered() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, filter: SubscriptionFilter(domains: [GlobPattern("a")]))
        log.count(other, 1...3)
        log.count(domain, 1...1)
        log.count(other, 4...6)
        #expect(drain(&subscription, log).map(\.summary) == ["record 4", "bookmark 7"])
    }

    @Test("Filtered: a batch of only filtered-out records doesn't end reading early")
    func filteredBatches() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, filter: SubscriptionFilter(domains: [GlobPattern("a")]))
        log.count(other, 1...200)
        log.count(domain, 1...1)
        log.count(other, 201...400)
        // An empty batch would mean that the subscriber is caught up.
        #expect(drain(&subscription, log, limit: 64).map(\.summary) == ["record 201", "bookmark 401"])
    }

    @Test(
        "Previous value correct: each change's old value is the result of the changes before it",
        arguments: Subscription.Mode.allCases)
    func previousValue(mode: Subscription.Mode) {
        for seed in 0..<UInt64(200) {
            var random = PseudoRandom(seed: seed)
            var log = ChangeLog()
            var subscription = subscribe(to: log, mode, filter: SubscriptionFilter(keys: [GlobPattern("?")]))
            var (truth, seen) = (DomainValues(), DomainValues())
            for _ in 0..<40 {
                let key = random.pick(["a", "b", "c"])
                let new: PropertyListValue? = random.oneIn(3) ? nil : .integer(Int64(random.below(3)))
                if truth[key] != new {
                    log.append(.change(domain, key, from: truth[key], to: new), at: Timestamp(nanoseconds: 0))
                    truth[key] = new
                }
                if random.oneIn(4) { replay(subscription.next(from: log, limit: 1 + random.below(5)), on: &seen, seed) }
            }
            replay(drain(&subscription, log), on: &seen, seed)
            #expect(seen == truth, "seed \(seed)")
        }
    }

    private func replay(_ events: [StreamEvent], on values: inout DomainValues, _ seed: UInt64) {
        for case .record(let record, _) in events {
            guard case .change(let changeSet) = record.event else { continue }
            for change in changeSet.changes {
                #expect(values[change.key] == change.old, "seed \(seed)")
                values[change.key] = change.new
            }
        }
    }
}

extension LogRecord {
    /// Applies the record's new values, without checking the old ones.
    fileprivate func apply(to values: inout [Domain: DomainValues]) {
        guard case .change(let changeSet) = event else { return }
        for change in changeSet.changes { values[changeSet.domain, default: [:]][change.key] = change.new }
    }
}

extension Subscription {
    /// Returns the next events from a log that doesn't change meanwhile.
    fileprivate mutating func next(from log: ChangeLog, limit: Int = 64) -> [StreamEvent] {
        while true {
            let portion = portion(of: log, limit: limit)
            let snapshots = portion.beginsWithSnapshot ? log.snapshots : []
            if let events = next(in: portion, snapshots: snapshots) { return events }
        }
    }
}

extension ChangeLog {
    /// A snapshot of one domain at the log's end.
    fileprivate var snapshots: [DomainSnapshot] {
        [DomainSnapshot(domain: Domain(.global), values: [:], cursor: cursor)]
    }
}
