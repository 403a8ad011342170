import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Patterns and filters")
struct FilterTests {
    @Test(
        "A pattern fits whole names",
        arguments: [
            ("", "", true), ("", "a", false), ("a", "a", true), ("a", "A", false), ("a", "ab", false), ("*", "", true),
            ("*", "anything at all", true), ("org.*", "org.example", true), ("org.*", "org", false),
            ("*.app", "x.app", true),
            ("*.app", "x.apps", false), ("a*b*c", "a123b456c", true), ("a*b*c", "acb", false), ("**a**", "xax", true),
            ("?", "é", true), ("?", "", false), ("??", "a", false), ("a?c", "abc", true), ("\\*", "*", true),
            ("\\*", "a", false),
            ("\\\\", "\\", true), ("a\\", "a\\", true), ("\\?x", "?x", true), ("[a]", "[a]", true), ("[a]", "a", false),
            ("*aab", "aaaab", true), ("*ab*ab", "abab", true), ("*ab*ab", "aab", false),
        ])
    func patterns(pattern: String, name: String, fits: Bool) {
        #expect(GlobPattern(pattern).matches(name) == fits)
        #expect(GlobPattern(pattern).text == pattern)
    }

    @Test("A pattern agrees with a slow matcher that is plainly right")
    func againstModel() {
        func model(_ pattern: Substring, _ name: Substring) -> Bool {
            guard let first = pattern.first else { return name.isEmpty }
            if first == "*" {
                return model(pattern.dropFirst(), name) || !name.isEmpty && model(pattern, name.dropFirst())
            }
            return !name.isEmpty && (first == "?" || first == name.first)
                && model(pattern.dropFirst(), name.dropFirst())
        }
        var random = PseudoRandom(seed: 11)
        for _ in 0..<20_000 {
            let pattern = String((0..<random.below(7)).map { _ in random.pick(["a", "b", "*", "?"]) as Character })
            let name = String((0..<random.below(9)).map { _ in random.pick(["a", "b"]) as Character })
            #expect(GlobPattern(pattern).matches(name) == model(pattern[...], name[...]), "\(pattern) \(name), seed 11")
        }
    }

    @Test("No pattern takes more than both lengths multiplied", .timeLimit(.minutes(1)))
    func worstCase() {
        // One that tries every place for every run would take 2,000 to the 30th power steps.
        let pattern = String(repeating: "a*", count: 30) + "b"
        #expect(!GlobPattern(pattern).matches(String(repeating: "a", count: 2_000)))
        #expect(GlobPattern(pattern).matches(String(repeating: "a", count: 2_000) + "b"))
    }

    @Test("A record passes with the keys that are wanted, as one record")
    func keys() throws {
        let domain = try Domain("org.example.app")
        let changes = ["Color", "Colour", "Size"].map { KeyChange(key: $0, old: nil, new: 1) }
        let overruled = [Overruled(key: "Size", value: 2, writer: .file)]
        let record = LogRecord(
            revision: 3, time: Timestamp(nanoseconds: 4),
            event: .change(ChangeSet(domain: domain, source: .file, changes: changes, overruled: overruled)))
        func filtered(_ domains: [String], _ keys: [String]) -> LogRecord? {
            SubscriptionFilter(domains: domains.map(GlobPattern.init), keys: keys.map(GlobPattern.init))(record)
        }
        #expect(filtered([], []) == record)
        #expect(filtered(["org.*"], []) == record)
        #expect(filtered(["x", "*.app"], ["*"]) == record)
        #expect(filtered(["com.*"], []) == nil)
        #expect(filtered([], ["Nothing"]) == nil)
        guard let colors = filtered([], ["Colo*"]), case .change(let changeSet) = colors.event else {
            Issue.record("Nothing passed.")
            return
        }
        #expect(changeSet.changes.map(\.key) == ["Color", "Colour"])
        #expect(changeSet.overruled == [])
        #expect(colors.revision == 3)
        guard case .change(let size)? = filtered([], ["S?ze"])?.event else {
            Issue.record("Nothing passed.")
            return
        }
        #expect(size.overruled == overruled)
    }

    @Test("What is told of a whole domain passes every filter of keys")
    func wholeDomain() throws {
        let filter = SubscriptionFilter(domains: [GlobPattern("a")], keys: [GlobPattern("none")])
        for (name, passes) in [("a", true), ("b", false)] {
            let domain = Domain(try DomainName(name))
            for event in [LogRecord.Event.unknown(domain), .damaged(domain, reason: "torn")] {
                let record = LogRecord(revision: 1, time: Timestamp(nanoseconds: 0), event: event)
                #expect((filter(record) == record) == passes)
            }
        }
    }
}

@Suite("Net changes")
struct NetChangeTests {
    private let a: Domain
    private let b: Domain

    init() throws {
        a = try Domain("a")
        b = try Domain("b")
    }

    private func record(_ revision: Revision, _ event: LogRecord.Event) -> LogRecord {
        LogRecord(revision: revision, time: Timestamp(nanoseconds: Int64(revision)), event: event)
    }

    @Test("One key's changes are one, from the first old value to the last new one")
    func oneKey() {
        let joined = NetChange.coalesce([
            record(1, .change(a, "x", from: nil, to: 1)), record(2, .change(a, "x", from: 1, to: 2)),
            record(3, .change(a, "x", from: 2, to: nil)), record(4, .change(a, "x", from: nil, to: 4)),
        ])
        #expect(joined == [record(4, .change(a, "x", from: nil, to: 4))])
    }

    @Test("What is back where it began is no change")
    func thereAndBack() {
        #expect(
            NetChange.coalesce([record(1, .change(a, "x", from: 1, to: 2)), record(2, .change(a, "x", from: 2, to: 1))])
                == [])
        #expect(
            NetChange.coalesce([
                record(1, .change(a, "x", from: nil, to: 2)), record(2, .change(a, "x", from: 2, to: nil)),
            ]) == [])
    }

    @Test("Domains are joined apart, each at the place of its last change")
    func domains() {
        let joined = NetChange.coalesce([
            record(1, .change(a, "x", from: nil, to: 1)), record(2, .change(b, "x", from: nil, to: 1)),
            record(3, .change(a, "y", from: nil, to: 1)),
        ])
        #expect(joined.map(\.revision) == [2, 3])
        guard case .change(let changeSet)? = joined.last?.event else { return }
        #expect(changeSet.changes.map(\.key) == ["x", "y"])
    }

    @Test("Nothing is joined across what is told of the whole domain")
    func barrier() {
        let records = [
            record(1, .change(a, "x", from: 1, to: 2)), record(2, .unknown(a)),
            record(3, .change(a, "x", from: 2, to: 1)),
        ]
        #expect(NetChange.coalesce(records) == records)
    }

    @Test("What lost is kept, though the key is back where it began")
    func overruled() {
        let lost = Overruled(key: "x", value: 9, writer: .file)
        let changeSet = ChangeSet(
            domain: a, source: .file, changes: [KeyChange(key: "x", old: 2, new: 1)], overruled: [lost])
        let joined = NetChange.coalesce([record(1, .change(a, "x", from: 1, to: 2)), record(2, .change(changeSet))])
        #expect(joined == [record(2, .change(ChangeSet(domain: a, source: .file, changes: [], overruled: [lost])))])
    }
}
