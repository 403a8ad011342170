import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Change log")
struct ChangeLogTests {
    private let domain: Domain

    init() throws {
        domain = try Domain("a")
    }

    @Test("Revisions start at 1 and have no gaps")
    func revisions() {
        var log = ChangeLog()
        #expect([log.head, log.oldest] == [0, 1])
        #expect(log.records(after: 0) == [])
        log.count(domain, 1...200)
        #expect(log.records(after: 0)?.map(\.revision) == Array(1...200))
        #expect(log.cursor == Cursor(epoch: log.epoch, revision: 200))
    }

    @Test("Records can be read from the oldest kept one to the head, and reading outside that range returns nil")
    func edges() {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 10))
        log.count(domain, 1...25)
        #expect([log.oldest, log.head] == [16, 25])
        #expect(log.records(after: 14) == nil)
        #expect(log.records(after: 15)?.map(\.revision) == Array(16...25))
        #expect(log.records(after: 15, limit: 3)?.map(\.revision) == [16, 17, 18])
        #expect(log.records(after: 15, limit: 0) == [])
        #expect(log.records(after: 24)?.map(\.revision) == [25])
        #expect(log.records(after: 25) == [])
        #expect(log.records(after: 26) == nil)
        #expect(log.records(after: .max) == nil)
    }

    @Test("The ring keeps at most as many records as its capacity", arguments: [1, 2, 63, 64, 65, 200])
    func ringByCount(capacity: Int) {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: capacity))
        for number in Int64(1)...1_000 {
            log.count(domain, number...number)
            let kept = log.records(after: log.oldest - 1) ?? []
            #expect(kept.count == min(capacity, Int(number)))
            #expect(kept.last?.revision == log.head)
            #expect(kept.first?.revision == log.oldest)
        }
    }

    @Test("The ring keeps at most as many bytes as its capacity, but always the newest record")
    func ringByBytes() {
        var log = ChangeLog(capacity: ChangeLog.Capacity(records: 1_000, bytes: 10_000))
        for number in 1...100 {
            log.append(.damaged(domain, reason: String(repeating: "x", count: 872)), at: Timestamp(nanoseconds: 0))
            #expect(log.records(after: log.oldest - 1)?.count == min(number, 10))
        }
        log.append(.damaged(domain, reason: String(repeating: "x", count: 100_000)), at: Timestamp(nanoseconds: 0))
        #expect(log.records(after: 100)?.count == 1)
        #expect(log.oldest == 101)
        log.append(.unknown(domain), at: Timestamp(nanoseconds: 0))
        #expect(log.oldest == 102)
    }

    @Test("A smaller capacity takes effect with the next record")
    func shrinking() {
        var log = ChangeLog()
        log.count(domain, 1...500)
        log.capacity = ChangeLog.Capacity(records: 5)
        #expect(log.oldest == 1)
        log.count(domain, 501...501)
        #expect([log.oldest, log.head] == [497, 501])
        #expect(log.records(after: 496)?.count == 5)
    }

    @Test("A recovered log continues where it ended")
    func takenUp() {
        var earlier = ChangeLog()
        earlier.count(domain, 1...9)
        let records = earlier.records(after: 4) ?? []
        var log = ChangeLog(epoch: earlier.epoch, head: 9, records: records)
        #expect([log.oldest, log.head] == [5, 9])
        #expect(log.records(after: 4) == records)
        log.count(domain, 10...10)
        #expect(log.head == 10)
        #expect(ChangeLog(head: 7).records(after: 7) == [])
    }
}

@Suite("Cursors")
struct CursorTests {
    @Test(
        "A cursor's text contains the epoch and the revision",
        arguments: [
            ("0000000000000001:0", 1, 0), ("00f1e2d3c4b5a697:42", 0x00F1_E2D3_C4B5_A697, 42),
            ("ffffffffffffffff:18446744073709551615", .max, .max),
        ] as [(String, UInt64, UInt64)])
    func bothWays(text: String, epoch: UInt64, revision: UInt64) throws {
        let cursor = Cursor(epoch: Epoch(value: epoch), revision: revision)
        #expect(cursor.description == text)
        #expect(try Cursor(text) == cursor)
    }

    @Test(
        "Text that isn't a cursor is rejected with an explanation",
        arguments: [
            "", ":", "now", "1:1", "00f1e2d3c4b5a697", "00f1e2d3c4b5a697:", "00f1e2d3c4b5a697:-1",
            "00f1e2d3c4b5a697:+1",
            "00f1e2d3c4b5a697:1:2", "00f1e2d3c4b5a69g:1", "+0f1e2d3c4b5a697:1", "00f1e2d3c4b5a697: 1",
            "00f1e2d3c4b5a697:18446744073709551616", "00f1e2d3c4b5a6970:1",
        ])
    func refused(text: String) {
        let error = #expect(throws: DefaultsError.self) { try Cursor(text) }
        #expect(error?.code == .invalidCursor)
        #expect(error?.description.hasPrefix("\"\(text)\" isn't a cursor. A cursor looks like ") == true)
    }

    @Test("The error for an invalid cursor truncates a long text")
    func longText() {
        let error = #expect(throws: DefaultsError.self) { try Cursor(String(repeating: "x", count: 10_000)) }
        #expect((error?.description.count ?? 0) < 250)
    }
}
