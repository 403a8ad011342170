#if FleetEtcd
import Fleet
import FoundationEssentials
import SwiftProtobuf
import Testing

@testable import FleetEtcd

@Suite("The events of a watch that haven't been received yet")
struct EventQueueTests {
    private let queue = EventQueue()

    private func message(
        _ events: [(name: String, value: String?, revision: Int64)]
    ) -> Etcdserverpb_WatchResponse {
        .with {
            $0.events = events.map { name, value, revision in
                .with {
                    $0.type = value == nil ? 1 : 0
                    $0.kv.key = Data(name)
                    $0.kv.value = Data(value ?? "")
                    $0.kv.modRevision = revision
                }
            }
        }
    }

    @Test("The last event of each register counts, and the latest revision")
    func lastEventOfEachRegister() throws {
        try queue.add(message([("a", "1", 5), ("b", "1", 5), ("a", nil, 6), ("c", nil, 6), ("c", "2", 7)]))
        guard case .changes(let changed, let removed, let revision) = try queue.next(within: 0) else {
            Issue.record("There is no event.")
            return
        }
        #expect(changed.sorted { $0.name < $1.name }.map { "\($0.name) \($0.revision)" } == ["b 5", "c 7"])
        #expect(removed == ["a"])
        #expect(revision == 7)
        #expect(try queue.next(within: 0) == nil)
    }

    @Test("Events that etcd has compacted are a gap")
    func compactedEvents() throws {
        try queue.add(.with { $0.compactRevision = 9 })
        guard case .gap? = try queue.next(within: 0) else {
            Issue.record("There is no gap.")
            return
        }
    }

    @Test("A slow receiver gets a gap instead of more than 20,000 registers")
    func slowReceiver() throws {
        for revision in 1...3 as ClosedRange<Int64> {
            try queue.add(message((0..<9_000).map { ("\($0)", "value", revision) }))
        }
        guard case .gap? = try queue.next(within: 0) else {
            Issue.record("There is no gap.")
            return
        }
        guard case .changes(let changed, _, revision: 3)? = try queue.next(within: 0) else {
            Issue.record("The events after the gap are missing.")
            return
        }
        #expect(changed.count == 9_000)
    }

    @Test("The end of a watch comes after its events, and says why")
    func endOfWatch() throws {
        try queue.add(message([("a", "1", 1)]))
        #expect(throws: RegisterFailure.self) {
            try queue.add(.with { ($0.canceled, $0.cancelReason) = (true, "etcdserver: no leader") })
        }
        queue.end(.unavailable("etcd has ended the watch."))
        #expect(try queue.next(within: 0) != nil)
        #expect(throws: RegisterFailure.self) { try queue.next(within: 0) }
    }
}
#endif
