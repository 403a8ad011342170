import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Patterns and filters")
struct FilterTests {
    @Test(
        "A pattern matches whole names",
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

    /// Returns whether a name matches, using a table of which prefixes of the pattern match which prefixes of the
    /// name.
    private static func model(_ pattern: String, _ name: String) -> Bool {
        let scalars = Array(name.unicodeScalars)
        var matches = [true] + [Bool](repeating: false, count: scalars.count)
        var pattern = pattern.unicodeScalars[...]
        while let scalar = pattern.popFirst() {
            if scalar == "*" {
                for index in 0..<scalars.count where matches[index] { matches[index + 1] = true }
                continue
            }
            let wanted = scalar == "\\" ? pattern.popFirst() ?? scalar : scalar == "?" ? nil : scalar
            for index in (0..<scalars.count).reversed() {
                matches[index + 1] = matches[index] && (wanted == nil || wanted == scalars[index])
            }
            matches[0] = false
        }
        return matches[scalars.count]
    }

    @Test("A pattern agrees with a slow but simple reference matcher", arguments: [6, 30, 90, 200])
    func againstModel(length: Int) {
        var random = PseudoRandom(seed: 11)
        var (matching, others) = (0, 0)
        for round in 0..<60_000 / length {
            let pieces = (0..<random.below(length)).map { _ in
                random.pick(["a", "b", "é", "e\u{301}", "漢", "😀", "\\*", "\\\\", "\\é", "*", "?"])
            }
            let pattern = pieces.joined()
            // A name that the pattern matches, occasionally with one piece changed.
            let name = pieces.map { piece in
                if random.oneIn(2 * length) { return random.pick(["", "a", "漢"]) }
                switch piece {
                case "*": return (0..<random.below(4)).map { _ in random.pick(["a", "b", "é", "😀"]) }.joined()
                case "?": return random.pick(["a", "é", "漢", "😀"])
                default: return piece.count > 1 && piece.hasPrefix("\\") ? String(piece.dropFirst()) : piece
                }
            }.joined()
            let expected = Self.model(pattern, name)
            if expected { matching += 1 } else { others += 1 }
            #expect(GlobPattern(pattern).matches(name) == expected, "\(pattern) \(name), round \(round), seed 11")
        }
        #expect(matching > 100 && others > 50, "\(matching) \(others)")
    }

    @Test("An exact pattern matches only its own name, even if a combining mark follows a wildcard character")
    func exactly() {
        for name in ["a*b", "?", "\\", "*\u{301}", "\\*\u{20DD}?", "é"] {
            let pattern = GlobPattern.exactly(name)
            #expect(pattern.matches(name) && !pattern.hasWildcards)
            #expect(!pattern.matches(name + "x") && !pattern.matches("x" + name))
        }
        #expect(!GlobPattern.exactly("*\u{301}").matches("x\u{301}"))
    }

    @Test(
        "A pattern of keys matches a key in any canonically equivalent spelling",
        arguments: [
            ("caf\u{E9}", "cafe\u{301}", true), ("cafe\u{301}", "caf\u{E9}", true),
            ("caf\u{E9}*", "cafe\u{301}s", true),
            ("*\u{E9}", "cafe\u{301}", true), ("c*\u{E9}?", "cafe\u{301}s", true), ("caf?", "cafe\u{301}", true),
            ("caf?", "caf\u{E9}", true), ("cafe*", "cafe\u{301}", false), ("cafe*", "caf\u{E9}", false),
            ("Key", "\u{212A}ey", true), ("K*", "\u{212A}ey", true), ("\u{212A}*", "Key", true),
            ("*\u{1100}\u{1161}*", "x\u{AC00}y", true), ("\\\u{E9}", "e\u{301}", true),
            ("caf\u{E8}", "cafe\u{301}", false),
            ("\u{E9}", "e", false), ("??", "\r\n", true), ("??\u{E9}", "\r\n\u{E9}", true), ("*", "", true),
            ("\u{E9}", "", false), ("*\u{E9}*\u{E9}*", "e\u{301}", false), ("*\u{E9}*\u{E9}*", "e\u{301}\u{E9}", true),
            ("\u{390}", "\u{3B9}\u{308}\u{301}", true), ("q\u{307}\u{323}", "q\u{323}\u{307}", true),
        ])
    func equivalentKeys(pattern: String, key: String, fits: Bool) {
        #expect(GlobPattern(pattern).matches(key: key) == fits)
        let filter = SubscriptionFilter(keys: [GlobPattern(pattern)])
        #expect(filter.includes(key: key) == fits)
        #expect(HistoryExclusions(["a.b/\(pattern)"]).exclude(key, of: Domain(DomainName(unchecked: "a.b"))) == fits)
    }

    @Test("A pattern agrees about keys in both normal forms")
    func normalForms() {
        var random = PseudoRandom(seed: 12)
        for round in 0..<5_000 {
            let pieces = (0..<random.below(8)).map { _ in random.pick(["a", "\u{E9}", "e", "漢", "\u{AC00}", "*", "?"]) }
            let name = (0..<random.below(8)).map { _ in random.pick(["a", "\u{E9}", "e", "漢", "\u{AC00}"]) }.joined()
            let forms = [pieces.joined(), pieces.joined().decomposed].flatMap { pattern in
                [name, name.decomposed].map { GlobPattern(pattern).matches(key: $0) }
            }
            #expect(Set(forms).count == 1, "\(pieces) \(name), round \(round), seed 12")
        }
    }

    @Test("Matching time never grows with the product of pattern length and name length", .timeLimit(.minutes(1)))
    func worstCase() {
        // A matcher that tries every position for every run would take 2,000 to the 30th power steps.
        let runs = String(repeating: "a*", count: 30) + "b"
        #expect(!GlobPattern(runs).matches(String(repeating: "a", count: 2_000)))
        #expect(GlobPattern(runs).matches(String(repeating: "a", count: 2_000) + "b"))
        // Here a near match begins at each position of the name.
        let letters = "*" + String(repeating: "a", count: 5_000) + "b*"
        #expect(!GlobPattern(letters).matches(String(repeating: "a", count: 200_000)))
        #expect(!GlobPattern(letters).matches(key: String(repeating: "a", count: 200_000) + "\u{E9}"))
        let long = GlobPattern(String(repeating: "\u{E9}*", count: 100_000))
        for _ in 0..<10_000 { #expect(!long.matches(key: "e\u{301}")) }
    }

    @Test("A record passes a filter as one record with only the matching keys")
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
            Issue.record("The record didn't pass the filter.")
            return
        }
        #expect(changeSet.changes.map(\.key) == ["Color", "Colour"])
        #expect(changeSet.overruled == [])
        #expect(colors.revision == 3)
        guard case .change(let size)? = filtered([], ["S?ze"])?.event else {
            Issue.record("The record didn't pass the filter.")
            return
        }
        #expect(size.overruled == overruled)
    }

    @Test("In the history, an undo passes for keys whose changes canceled each other out")
    func canceled() throws {
        let domain = try Domain("a.b")
        let reach = UndoReach(oldest: ["a": 2, "b": 1])
        let record = LogRecord(
            revision: 9, time: Timestamp(nanoseconds: 4),
            event: .change(
                ChangeSet(
                    domain: domain, source: .testApp, changes: [KeyChange(key: "a", old: 1, new: 0)],
                    origin: Origin(purpose: .undo(Cursor(epoch: .random(), revision: 3), reach)))))
        for (key, passes) in [("a", true), ("b", true), ("c", false)] {
            let filter = SubscriptionFilter(keys: [GlobPattern(key)])
            #expect((filter.inHistory(record) != nil) == passes)
            #expect(filter.inHistory(record)?.changeSet?.changes.count == (passes ? (key == "a" ? 1 : 0) : nil))
            #expect((filter(record) != nil) == (key == "a"), "Followers have nothing to do.")
        }
    }

    @Test("An event about a whole domain passes every key filter")
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

    @Test("Several changes to one key are coalesced from the first old value to the last new one")
    func oneKey() {
        let joined = NetChange.coalesce([
            record(1, .change(a, "x", from: nil, to: 1)), record(2, .change(a, "x", from: 1, to: 2)),
            record(3, .change(a, "x", from: 2, to: nil)), record(4, .change(a, "x", from: nil, to: 4)),
        ])
        #expect(joined == [record(4, .change(a, "x", from: nil, to: 4))])
    }

    @Test("Changes that restore the original value are coalesced to no change")
    func thereAndBack() {
        #expect(
            NetChange.coalesce([record(1, .change(a, "x", from: 1, to: 2)), record(2, .change(a, "x", from: 2, to: 1))])
                == [])
        #expect(
            NetChange.coalesce([
                record(1, .change(a, "x", from: nil, to: 2)), record(2, .change(a, "x", from: 2, to: nil)),
            ]) == [])
    }

    @Test("Changes are coalesced per domain, and each result has the revision of the domain's last change")
    func domains() {
        let joined = NetChange.coalesce([
            record(1, .change(a, "x", from: nil, to: 1)), record(2, .change(b, "x", from: nil, to: 1)),
            record(3, .change(a, "y", from: nil, to: 1)),
        ])
        #expect(joined.map(\.revision) == [2, 3])
        guard case .change(let changeSet)? = joined.last?.event else { return }
        #expect(changeSet.changes.map(\.key) == ["x", "y"])
    }

    @Test("Changes aren't coalesced across an event about the whole domain")
    func barrier() {
        let records = [
            record(1, .change(a, "x", from: 1, to: 2)), record(2, .unknown(a)),
            record(3, .change(a, "x", from: 2, to: 1)),
        ]
        #expect(NetChange.coalesce(records) == records)
    }

    @Test("Coalescing many records of one domain takes time proportional to their number", .timeLimit(.minutes(1)))
    func manyRecords() {
        let count = 30_000 as Revision
        let joined = NetChange.coalesce(
            (1...count).map { record($0, .change(a, "\($0)", from: nil, to: .integer(Int64($0)))) })
        #expect(joined.map(\.revision) == [count])
        guard case .change(let changeSet)? = joined.first?.event else { return }
        #expect(changeSet.changes.count == Int(count))
    }

    @Test("Overruled values are kept even if the key is back at its original value")
    func overruled() {
        let lost = Overruled(key: "x", value: 9, writer: .file)
        let changeSet = ChangeSet(
            domain: a, source: .file, changes: [KeyChange(key: "x", old: 2, new: 1)], overruled: [lost])
        let joined = NetChange.coalesce([record(1, .change(a, "x", from: 1, to: 2)), record(2, .change(changeSet))])
        #expect(joined == [record(2, .change(ChangeSet(domain: a, source: .file, changes: [], overruled: [lost])))])
    }
}

extension String {
    /// The text with some letters decomposed.
    fileprivate var decomposed: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar == "\u{E9}" ? "e\u{301}" : scalar == "\u{AC00}" ? "\u{1100}\u{1161}" : String(scalar)
        }
    }
}
