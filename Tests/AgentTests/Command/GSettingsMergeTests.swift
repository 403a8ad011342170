import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsCommand

@Suite("Merging GSettings' values of two sides")
struct GSettingsMergeTests {
    /// A key's value in the source, in the target, and at the last switch; and the outcome.
    struct Row: CustomTestStringConvertible {
        var source: PropertyListValue?
        var target: PropertyListValue?
        var agreed: PropertyListValue?
        var outcome: String
        var prefersSource: Bool?
        var pending: PropertyListValue?

        var testDescription: String {
            [source, target, agreed].map { if case .integer(let number)? = $0 { "\(number)" } else { "-" } }
                .joined(separator: " ")
        }
    }

    static let rows: [Row] = [
        Row(source: 1, target: 1, agreed: nil, outcome: "same"),
        Row(source: 1, target: 1, agreed: 2, outcome: "same"),
        Row(source: 1, target: nil, agreed: nil, outcome: "change"),
        // The lack of a value is like a value.
        Row(source: 1, target: nil, agreed: 1, outcome: "kept"),
        Row(source: 2, target: nil, agreed: 1, outcome: "conflict"),
        Row(source: nil, target: 1, agreed: nil, outcome: "kept"),
        Row(source: nil, target: 1, agreed: 1, outcome: "change"),
        Row(source: nil, target: 2, agreed: 1, outcome: "conflict"),
        Row(source: 2, target: 1, agreed: 1, outcome: "change"),
        Row(source: 1, target: 2, agreed: 1, outcome: "kept"),
        Row(source: 1, target: 2, agreed: nil, outcome: "conflict"),
        Row(source: 1, target: 2, agreed: 3, outcome: "conflict"),
        Row(source: 1, target: 2, agreed: 3, outcome: "change", prefersSource: true),
        Row(source: 1, target: 2, agreed: 3, outcome: "kept", prefersSource: false),
        // The decision is about conflicts alone.
        Row(source: 1, target: 2, agreed: 1, outcome: "kept", prefersSource: true),
        Row(source: 2, target: 1, agreed: 1, outcome: "change", prefersSource: false),
        // A switch that didn't end has set the target.
        Row(source: 3, target: 2, agreed: 1, outcome: "change", pending: 2),
        Row(source: nil, target: 2, agreed: nil, outcome: "change", pending: 2),
        Row(source: 3, target: 2, agreed: 1, outcome: "conflict", pending: 3),
    ]

    @Test("A newer value is used, and two newer values are a conflict", arguments: rows)
    func outcome(_ row: Row) {
        func values(_ value: PropertyListValue?) -> GSettingsValues { value.map { ["a.b": ["k": $0]] } ?? [:] }
        let merge = GSettingsMerge(
            from: values(row.source), to: values(row.target),
            since: GSettingsMerge.History(agreed: values(row.agreed), pending: [[:], values(row.pending)]),
            prefersSource: row.prefersSource)
        let found = [("change", merge.changes), ("kept", merge.kept), ("conflict", merge.conflicts)]
        #expect(found.filter { !$0.1.isEmpty }.map(\.0) == (row.outcome == "same" ? [] : [row.outcome]))
        for item in found.flatMap(\.1) { #expect(item.source == row.source && item.target == row.target) }
    }

    @Test("What programs remember needs no decision, and follows the side in use", arguments: [false, true])
    func noise(isSwitched: Bool) {
        let domain = "org.gtk.settings.file-chooser"
        let merge = GSettingsMerge(
            from: [domain: ["window-size": 1]], to: [domain: ["window-size": 2, "window-position": 3]],
            since: GSettingsMerge.History(), isSwitched: isSwitched)
        #expect(merge.kept.isEmpty && merge.conflicts.isEmpty)
        #expect(merge.changes.map(\.key) == (isSwitched ? [] : ["window-size"]))
    }

    @Test("A value that can't be carried doesn't remove the target's")
    func unfit() {
        let merge = GSettingsMerge(
            from: [:], to: ["a.b": ["k": 1, "l": 1]],
            since: GSettingsMerge.History(agreed: ["a.b": ["k": 1, "l": 1]]), except: ["a.b": ["k"]])
        #expect(merge.changes.map(\.key) == ["l"])
        let outcome = GSettingsConverter.Outcome(unfit: ["/a/b/k", "/a.b/c/k", "/k"])
        #expect(outcome.unfitKeys == ["a.b": ["k"], "a%2Eb.c": ["k"], "%": ["k"]])
    }

    @Test("A dump of some keys has their lines alone")
    func lines() {
        let outcome = GSettingsConverter.Outcome(
            paths: ["%": "/", "a.b": "/a/b/"], dump: "[/]\nk='1=2'\n\n[a/b]\nk=1\nother=['[x]']\n")
        #expect(outcome.dump { domain, key in domain == "a.b" && key == "other" } == "\n[/]\n\n[a/b]\nother=['[x]']\n")
        #expect(outcome.dump { domain, _ in domain == "%" } == "\n[/]\nk='1=2'\n\n[a/b]\n")
    }
}
