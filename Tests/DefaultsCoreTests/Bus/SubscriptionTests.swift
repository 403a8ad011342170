import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The bus keeps its promises")
struct SubscriptionTests {
    private let domain: Domain
    private let other: Domain

    init() throws {
        domain = try Domain("a")
        other = try Domain("b")
    }

    /// All that is handed out until the subscriber is caught up and has been told so.
    private func drain(_ subscription: inout Subscription, _ log: ChangeLog, limit: Int = 64) -> [SubscriptionEvent] {
        var all: [SubscriptionEvent] = []
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

    @Test("Ordered and unique: each record once, in the order of revisions", arguments: [1, 7, 64, 1_000])
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

    @Test("Atomic: a change set comes whole, under one revision", arguments: Subscription.Mode.allCases)
    func atomic(mode: Subscription.Mode) {
        var log = ChangeLog()
        var subscription = subscribe(to: log, mode)
        let changes = (0..<500).map { KeyChange(key: "\($0)", old: nil, new: 1) }
        log.append(.change(ChangeSet(domain: domain, source: .file, changes: changes)), at: Timestamp(nanoseconds: 0))
        let events = subscription.next(from: log, limit: 1)
        guard case .record(let record, _)? = events.first, case .change(let changeSet) = record.event else {
            Issue.record("No record came.")
            return
        }
        #expect(changeSet.changes.count == 500)
    }

    @Test(
        "Gap-free, or the gap is explicit: past the ring's end comes a gap, then a snapshot",
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

    @Test("At the ring's very end nothing is missed", arguments: Subscription.Mode.allCases)
    func ringEnd(mode: Subscription.Mode) {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
        var subscription = subscribe(to: log, mode)
        log.count(domain, 1...10)
        let events = drain(&subscription, log).map(\.summary)
        #expect(events == (mode == .latest ? ["record 10"] : (1...10).map { "record \($0)" }) + ["bookmark 10"])
    }

    @Test("The mode disconnect ends a subscriber that is too slow, once and for all")
    func disconnect() {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
        var subscription = subscribe(to: log, .disconnect)
        log.count(domain, 1...11)
        #expect(subscription.next(from: log).map(\.summary) == ["gap 0 11", "ended"])
        log.count(domain, 12...12)
        #expect(subscription.next(from: log) == [])
    }

    @Test("The mode latest hands out net changes, however many records wait")
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
        "Resumable: from any cursor come exactly the records after it",
        arguments: [0, 1, 63, 64, 65, 100] as [Revision])
    func resumable(revision: Revision) {
        var log = ChangeLog()
        log.count(domain, 1...100)
        var subscription = subscribe(.after(Cursor(epoch: log.epoch, revision: revision)), to: log)
        let expected = (revision..<100).map { "record \($0 + 1)" } + ["bookmark 100"]
        #expect(drain(&subscription, log).map(\.summary) == expected)
    }

    @Test(
        "Resumable: after any event the rest comes again, whole, in whatever mode",
        arguments: Subscription.Mode.allCases)
    func resumableAfterEachEvent(mode: Subscription.Mode) {
        for seed in 0..<UInt64(100) {
            var random = PseudoRandom(seed: seed)
            var log = ChangeLog()
            var truth: [Domain: DomainValues] = [:]
            for number in 0..<12 {
                let (domain, key) = (random.pick([domain, other]), random.pick(["a", "b"]))
                let new: PropertyListValue? = random.oneIn(3) ? nil : .integer(Int64(number))
                guard truth[domain]?[key] != new else { continue }
                log.append(.change(domain, key, from: truth[domain]?[key], to: new), at: Timestamp(nanoseconds: 0))
                truth[domain, default: [:]][key] = new
            }
            let all = subscribe(.after(Cursor(epoch: log.epoch, revision: 0)), to: log, mode)
            var first = all
            for count in 1...max(1, first.next(from: log).count) {
                var (broken, seen) = (all, [Domain: DomainValues]())
                var place = Cursor(epoch: log.epoch, revision: 0)
                for event in broken.next(from: log).prefix(count) {
                    if case .record(let record, let cursor) = event {
                        record.apply(to: &seen)
                        place = cursor
                    }
                }
                var resumed = subscribe(.after(place), to: log, mode)
                for case .record(let record, _) in drain(&resumed, log) { record.apply(to: &seen) }
                #expect(seen.filter { !$1.isEmpty } == truth.filter { !$1.isEmpty }, "seed \(seed), after \(count)")
            }
        }
    }

    @Test("In a batch of net changes all but the last event bear the place before it, and the last the place after it")
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
        // Nothing is joined: each event has its own place.
        #expect(places() == [[1, 1], [2, 2], []])
        log.count(domain, 2...2, key: "a")
        log.count(other, 2...2)
        log.count(domain, 2...2, key: "b")
        #expect(places() == [[4, 2], [5, 5]])
        log.append(.change(domain, "c", from: nil, to: 1), at: Timestamp(nanoseconds: 0))
        log.count(other, 3...3)
        log.append(.change(domain, "c", from: 1, to: nil), at: Timestamp(nanoseconds: 0))
        // After 7 the subscriber would be told that c is removed, which it never saw set.
        #expect(places() == [[7, 8]])
    }

    @Test("A cursor of another log, or one ahead of it, meets an explicit gap", arguments: [true, false])
    func unknownEpoch(isOther: Bool) {
        var log = ChangeLog(epoch: Epoch(value: 5))
        log.count(domain, 1...3)
        let cursor = isOther ? Cursor(epoch: Epoch(value: 6), revision: 2) : Cursor(epoch: Epoch(value: 5), revision: 4)
        for mode in [Subscription.Mode.latest, .everything] {
            var subscription = subscribe(.after(cursor), to: log, mode)
            let events = subscription.next(from: log)
            #expect(events == [.gap(from: cursor, to: log.cursor), .snapshotDue(at: log.cursor)])
            #expect(drain(&subscription, log).map(\.summary) == ["bookmark 3"])
        }
        var subscription = subscribe(.after(cursor), to: log, .disconnect)
        #expect(subscription.next(from: log).map(\.summary).last == "ended")
    }

    @Test("A snapshot is taken at R, and the stream starts at R + 1", arguments: Subscription.Mode.allCases)
    func snapshot(mode: Subscription.Mode) {
        var log = ChangeLog()
        log.count(domain, 1...5)
        var subscription = subscribe(.snapshot, to: log, mode)
        // What comes between subscribing and reading is in the snapshot.
        log.count(domain, 6...6)
        #expect(subscription.next(from: log).map(\.summary) == ["snapshot 6"])
        log.count(domain, 7...7)
        #expect(drain(&subscription, log).map(\.summary) == ["record 7", "bookmark 7"])
    }

    @Test("A snapshot that waits past the ring's end is no gap")
    func lateSnapshot() {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 5))
        var subscription = subscribe(.snapshot, to: log, .disconnect)
        log.count(domain, 1...20)
        // Nothing was promised yet; so nothing was missed.
        #expect(subscription.next(from: log).map(\.summary) == ["snapshot 20"])
    }

    @Test(
        "Bookmarked: the first time it is caught up a subscriber is told so, and from then on by each event's own place",
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

    @Test("Bookmarked: the place that a subscriber knows of stays within the log, though nothing passes its filter")
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

    @Test("Filtered: records of others move the bookmark, and nothing else")
    func filtered() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, filter: SubscriptionFilter(domains: [GlobPattern("a")]))
        log.count(other, 1...3)
        log.count(domain, 1...1)
        log.count(other, 4...6)
        #expect(drain(&subscription, log).map(\.summary) == ["record 4", "bookmark 7"])
    }

    @Test("Filtered: what isn't wanted, however much, doesn't end the reading before what is wanted")
    func filteredBatches() {
        var log = ChangeLog()
        var subscription = subscribe(to: log, filter: SubscriptionFilter(domains: [GlobPattern("a")]))
        log.count(other, 1...200)
        log.count(domain, 1...1)
        log.count(other, 201...400)
        // None is the sign of being caught up.
        #expect(drain(&subscription, log, limit: 64).map(\.summary) == ["record 201", "bookmark 401"])
    }

    @Test(
        "Previous value correct: each record's old values are what the records before have led to",
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

    private func replay(_ events: [SubscriptionEvent], on values: inout DomainValues, _ seed: UInt64) {
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
    /// Does to values what the record says; of what they were before it asks nothing.
    fileprivate func apply(to values: inout [Domain: DomainValues]) {
        guard case .change(let changeSet) = event else { return }
        for change in changeSet.changes { values[changeSet.domain, default: [:]][change.key] = change.new }
    }
}

extension Subscription {
    /// Takes the next events from a log that nothing is added to meanwhile.
    fileprivate mutating func next(from log: ChangeLog, limit: Int = 64) -> [SubscriptionEvent] {
        while true {
            if let events = next(in: portion(of: log, limit: limit)) { return events }
        }
    }
}
