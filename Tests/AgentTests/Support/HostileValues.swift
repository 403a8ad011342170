import DefaultsCore
import PropertyList

/// Values that are easily corrupted on their way through arguments, files and text.
enum HostileValues {
    /// Text that any format can hold.
    static let strings: [String] = [
        "", " ", "  two  spaces ", "a\tb", "line\nfeed", "line\nfeed\n", "cr\rlf\r\n", "\"", "'", "\"\"", "it's \"q\"",
        "\\",
        "\\\\", "\\\"", "\\n", "C:\\new\\table", "\\U00e9", "\\101", "5", "-5", "1.5", "1e3", "nan", "YES", "true",
        "<0a0b>",
        "<*I5>", "(a)", "{a = b;}", "a = b;", "// comment", "/* comment", "-int", "-string", "--", "--help", "-g",
        "$HOME", "---", "-=x", "-----BEGIN", "--generate-completion-script", "---completion", "--version",
        "`id`", "%@ %n %s", "a;b,c", "a.b.0", ".", "..", "a\\.b", "é", "e\u{301}", "ß漢字", "🎉", "👩‍👩‍👧‍👦", "🇩🇪",
        "\u{202E}desrever\u{202C}", "\u{2067}x\u{2069}", "\u{200B}\u{200D}\u{FEFF}", "\u{2028}\u{2029}", "\u{A0}",
        "\u{10FFFD}", "\u{1D11E}", "<a>&amp;</a>]]>", String(repeating: "long \\ \" ", count: 500),
    ]

    /// Text with characters that XML can't express.
    static let controls: [String] =
        ["\u{01}", "\u{07}\u{08}\u{0B}\u{0C}", "\u{1B}[31mred\u{1B}[0m", "\u{1F}9", "\u{0}", "a\u{0}1", "\u{FFFF}"]
        + ["\u{7F}", "\u{80}", "\u{9F}x", "\u{85}"]

    /// Values of every type.
    static let scalars: DomainValues = [
        "string": "text", "integer": 5, "negative": -1, "least": .integer(.min), "greatest": .integer(.max),
        "unsigned": .unsigned(.max), "real": 1.5, "whole": .real(3), "small": .real(.leastNonzeroMagnitude),
        "large": .real(1.7e308),
        "tenth": .real(0.1), "minus zero": .real(-0.0), "true": true, "false": false,
        "data": .data([0, 10, 255, 1, 2]),
        "no data": .data([]), "date": .date(PropertyListDate(secondsSinceReferenceDate: 599_626_985)),
        "old date": .date(PropertyListDate(secondsSinceReferenceDate: -63_000_000_000)), "empty array": [],
        "empty dictionary": [:], "nested": [[[["deep"]], ["k": ["l": [1, [:]]]]]],
    ]

    /// Returns a domain with all of these, the strings both as values and in keys.
    static func domain(withControls: Bool, where isWanted: (String) -> Bool = { _ in true }) -> DomainValues {
        var values = scalars
        let texts = (strings + (withControls ? controls : [])).filter(isWanted)
        values["strings"] = .array(texts.map { .string($0) })
        for (number, text) in texts.enumerated() { values["key \(text)"] = .array([.integer(Int64(number))]) }
        return values
    }
}
