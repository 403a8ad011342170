import DefaultsClient
import DefaultsCore
import DefaultsKit
import ProgramSupport
import PropertyList
import Testing

/// The checker of the bus's promises in soak tests and explorations, which must itself detect each broken promise.
@Suite("The stream history of a soak test")
struct StreamHistoryTests {
    private static let epoch = Epoch(value: 1)

    private static func place(_ revision: Revision) -> Cursor { Cursor(epoch: epoch, revision: revision) }

    private static func domain(_ name: String = "a") -> Domain {
        guard let name = try? DomainName(name) else { preconditionFailure("\(name) must be a valid domain name.") }
        return Domain(name)
    }

    private static func record(
        _ revision: Revision, _ changes: [DefaultsCore.KeyChange], at cursor: Revision? = nil, of name: String = "a"
    ) -> StreamEvent {
        let changeSet = ChangeSet(domain: domain(name), source: .file, changes: changes)
        return .record(
            LogRecord(revision: revision, time: Timestamp(nanoseconds: 0), event: .change(changeSet)),
            cursor: place(cursor ?? revision))
    }

    private static func change(_ key: String, _ old: Int64?, _ new: Int64?) -> DefaultsCore.KeyChange {
        DefaultsCore.KeyChange(key: key, old: old.map { .integer($0) }, new: new.map { .integer($0) })
    }

    private static func initial(_ revision: Revision, _ values: DomainValues = [:], of name: String = "a")
        -> StreamEvent
    {
        .initial(DomainSnapshot(domain: domain(name), values: values, cursor: place(revision)))
    }

    struct Breach: CustomTestStringConvertible {
        let promise: String
        let testDescription: String
        let events: [StreamEvent]

        init(_ promise: String, _ description: String, _ events: [StreamEvent]) {
            (self.promise, testDescription, self.events) = (promise, "\(promise): \(description)", events)
        }
    }

    private static let start = [initial(5, ["n": 1]), .bookmark(place(5))]

    static let breaches: [Breach] = [
        Breach("Ordered", "a revision is left out", start + [record(7, [change("n", 1, 2)])]),
        Breach(
            "Ordered", "a record comes twice",
            start + [record(6, [change("n", 1, 2)]), record(6, [change("n", 2, 1)])]),
        Breach("Ordered", "a gap", start + [.gap(from: place(5), to: place(9))]),
        Breach("Ordered", "the end of the stream", start + [.ended]),
        Breach("Ordered", "another cursor than the record's", start + [record(8, [change("n", 1, 2)], at: 6)]),
        Breach(
            "Atomic", "a key without its twin",
            start + [record(6, [change("k", nil, 1), change("k twin", nil, 1)])]
                + [record(7, [change("k", 1, 2)])]),
        Breach("Atomic", "a twin without its key", start + [record(6, [change("k twin", nil, 1)])]),
        Breach("Atomic", "a key twice", start + [record(6, [change("n", 1, 2), change("n", 1, 2)])]),
        Breach("Previous value", "another old value", start + [record(6, [change("n", 3, 2)])]),
        Breach("Previous value", "a value that hasn't changed", start + [record(6, [change("n", 1, 1)])]),
        Breach("Bookmarked", "a cursor already passed", start + [record(6, [change("n", 1, 2)]), .bookmark(place(5))]),
        Breach(
            "Bookmarked", "a record from before the bookmark",
            start + [.bookmark(place(7)), record(6, [change("n", 1, 2)])]),
        Breach("Filtered", "another domain's record", start + [record(6, [change("n", 1, 2)], of: "b")]),
        Breach("Filtered", "another domain's values", [initial(5, of: "b")]),
        Breach("Snapshot", "the record of the cursor itself", [initial(5), record(5, [change("n", nil, 2)])]),
        Breach("Snapshot", "two cursors", [initial(5), initial(6)]),
        Breach(
            "No false alarm", "a damaged file",
            start + [
                .record(
                    LogRecord(
                        revision: 6, time: Timestamp(nanoseconds: 0), event: .damaged(domain(), reason: "line 1")),
                    cursor: place(6))
            ]),
        Breach("Snapshot", "values in the middle", start + [record(6, [change("n", 1, 2)]), initial(6, ["n": 2])]),
    ]

    private func history(_ events: [StreamEvent]) -> StreamHistory {
        let history = StreamHistory(filter: SubscriptionFilter(domains: [GlobPattern("a")]))
        for event in events { history.take(event) }
        return history
    }

    @Test("The history names the promise that is broken", arguments: breaches)
    func breach(_ breach: Breach) {
        let findings = history(breach.events).findings
        #expect(findings.contains { $0.hasPrefix(breach.promise) }, "\(findings)")
    }

    private static let whole =
        start + [
            record(6, [change("n", 1, 2), change("k", nil, 1), change("k twin", nil, 1)]),
            record(7, [change("k", 1, nil), change("k twin", 1, nil)]), .bookmark(place(7)),
            record(8, [change("n", 2, 3)]),
        ]

    @Test("The history reports nothing when all promises are kept")
    func clean() {
        let history = history(Self.whole)
        history.compare(with: ["n": 3])
        history.expect("External sync", ["n": 3])
        #expect(history.findings == [])
        #expect(history.records == 3)
        #expect(history.hasCome(Self.place(8)) && !history.hasCome(Self.place(9)))
    }

    @Test("The history reports values that differ from what others expect")
    func others() {
        let history = history(Self.whole)
        history.expect("External sync", ["n": 4])
        history.expect("Read-your-writes", ["gone": 1])
        history.compare(with: ["n": 4])
        #expect(history.findings.map { $0.prefix(8) } == ["External", "Read-you", "The reco"])
    }

    @Test("The history reports records that a resumed subscriber misses")
    func resumption() {
        let resumption = history(Self.whole).resumption
        let records = resumption.recent.map(\.record)
        let right = resumption.findings { cursor in records.filter { $0.revision > cursor.revision } }
        #expect(right == [])
        let wrong = resumption.findings { cursor in records.filter { $0.revision > cursor.revision + 1 } }
        #expect(wrong.count == 2 && wrong.allSatisfy { $0.hasPrefix("Resumable") })
    }
}
