import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsCommand

@Suite("Merging GSettings' values of two sides")
struct GSettingsMergeTests {
    /// A key's value in use, on the other side, and when both agreed; and the outcome.
    struct Row: CustomTestStringConvertible {
        var source: PropertyListValue?
        var target: PropertyListValue?
        var agreed: PropertyListValue?
        var outcome: String
        var prefersSource: Bool?

        var testDescription: String {
            [source, target, agreed].map { if case .integer(let number)? = $0 { "\(number)" } else { "-" } }
                .joined(separator: " ")
        }
    }

    static let rows: [Row] = [
        Row(source: 1, target: 1, agreed: nil, outcome: "same"),
        Row(source: 1, target: 1, agreed: 2, outcome: "same"),
        Row(source: 1, target: nil, agreed: nil, outcome: "change"),
        // A target from which a value was removed has nothing to lose.
        Row(source: 1, target: nil, agreed: 1, outcome: "change"),
        Row(source: 2, target: nil, agreed: 1, outcome: "change"),
        Row(source: nil, target: 1, agreed: nil, outcome: "same"),
        Row(source: nil, target: 1, agreed: 1, outcome: "change"),
        Row(source: nil, target: 2, agreed: 1, outcome: "same"),
        Row(source: 2, target: 1, agreed: 1, outcome: "change"),
        Row(source: 1, target: 2, agreed: 1, outcome: "kept"),
        Row(source: 1, target: 2, agreed: nil, outcome: "conflict"),
        Row(source: 1, target: 2, agreed: 3, outcome: "conflict"),
        Row(source: 1, target: 2, agreed: 3, outcome: "change", prefersSource: true),
        Row(source: 1, target: 2, agreed: 3, outcome: "kept", prefersSource: false),
        // The decision is about conflicts alone.
        Row(source: 1, target: 2, agreed: 1, outcome: "kept", prefersSource: true),
        Row(source: 2, target: 1, agreed: 1, outcome: "change", prefersSource: false),
    ]

    @Test("A newer value is used, and two newer values are a conflict", arguments: rows)
    func outcome(_ row: Row) {
        func values(_ value: PropertyListValue?) -> GSettingsValues { value.map { ["a.b": ["k": $0]] } ?? [:] }
        let merge = GSettingsMerge(
            from: values(row.source), to: values(row.target), since: values(row.agreed),
            prefersSource: row.prefersSource)
        let found = [("change", merge.changes), ("kept", merge.kept), ("conflict", merge.conflicts)]
        #expect(found.filter { !$0.1.isEmpty }.map(\.0) == (row.outcome == "same" ? [] : [row.outcome]))
        for item in found.flatMap(\.1) { #expect(item.source == row.source && item.target == row.target) }
    }

    @Test("A dump of some keys has their lines alone")
    func lines() {
        let outcome = GSettingsConverter.Outcome(
            paths: ["%": "/", "a.b": "/a/b/"], dump: "[/]\nk='1=2'\n\n[a/b]\nk=1\nother=['[x]']\n")
        #expect(outcome.dump { domain, key in domain == "a.b" && key == "other" } == "\n[/]\n\n[a/b]\nother=['[x]']\n")
        #expect(outcome.dump { domain, _ in domain == "%" } == "\n[/]\nk='1=2'\n\n[a/b]\n")
    }
}
