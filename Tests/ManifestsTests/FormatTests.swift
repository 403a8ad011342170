import Manifests
import Testing

@Suite("Formats")
struct FormatTests {
    @Test(
        "A format matches what it describes, and nothing else",
        arguments: [
            ("^https?://.*", ["http://a", "https://"], ["ftp://a", " http://a", ""]),
            ("https?://", ["see http://a"], ["http:/"]),
            ("^[0-9]{6}$", ["123456"], ["12345", "1234567", "12345a", "123456\n"]),
            ("^[0-9]{1,3}$", ["1", "123"], ["", "1234"]),
            ("^[0-9]{2,}$", ["12", "1234567"], ["1"]),
            ("^([0-9A-Fa-f]{2}:){5}([0-9A-Fa-f]{2})$", ["00:1b:63:84:45:e6"], ["00:1b:63:84:45", "00-1b"]),
            ("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", ["", "aGk=", "aGVsbG8h"], ["aGk"]),
            ("^(?<unit>px|pt)?$", ["", "px"], ["em"]),
            ("^\\d+\\.\\d*$", ["1.", "12.5", "٣.١"], ["12", ".5"]),
            ("^[\\w-]+$", ["a_b-c", "Größe"], ["a b"]),
            ("^\\S*$", ["", "abc"], ["a b", "a\u{A0}b"]),
            ("^\\p{Lu}\\P{Lu}*$", ["Éa1"], ["éa", "ÉA"]),
            ("(\\p{L}+)", ["1a"], ["1", ""]),
            ("^[^:/]+$", ["a b"], ["a:b", "a/b"]),
            ("^[]a]$", ["]", "a"], ["b"]),
            ("^[a-c-]$", ["b", "-"], ["d"]),
            ("^[\\]\\\\]$", ["]", "\\"], ["["]),
            ("^a.c$", ["abc", "a😀c"], ["a\nc", "ac"]),
            ("^a{,2}$", ["a{,2}"], ["aa"]),
            ("^\\x41\\u00e9\\t$", ["Aé\t"], ["Ae\t"]),
            ("^(a|b|)c$", ["ac", "bc", "c"], ["abc"]),
            ("^(a*)*$", ["", "aaa"], ["b"]),
            ("^.*?x+?$", ["x", "axx"], ["xa"]),
            ("", ["", "a"], []),
            ("^$", [""], ["a"]),
            ("a|^b$", ["xa", "b"], ["xb"]),
        ] as [(String, [String], [String])])
    func matches(_ pattern: String, _ right: [String], _ wrong: [String]) throws {
        let format = try Format(pattern)
        for text in right { #expect(format.matches(text), "\(pattern) \(text)") }
        for text in wrong { #expect(!format.matches(text), "\(pattern) \(text)") }
    }

    @Test(
        "A format that can't be matched in linear time, or is wrong, is refused by name and position",
        arguments: [
            ("^((?!\\:).)*$", 2, "look-ahead"), ("(?<=a)b", 0, "look-behind"), ("(a)\\1", 3, "back-references"),
            ("(?i)a", 0, "options"), ("a++", 2, "possessive"), ("a\\b", 1, "\\b"), ("(a", 0, "no end"),
            ("a)", 1, "closes no group"), ("[a", 0, "no end"), ("[b-a]", 1, "out of order"),
            ("*a", 0, "nothing to repeat"),
            ("^*", 1, "nothing to repeat"), ("a|{3}", 2, "nothing to repeat"), ("a{3,2}", 1, "in order"),
            ("a{1001}", 1, "at most 1000"), ("a\\", 1, "nothing to escape"), ("\\p{Xx}", 0, "general category"),
            ("\\x4", 0, "hexadecimal"), ("[[:alpha:]]", 1, "POSIX"), ("[a[b]]", 2, "ambiguous"),
            ("[a&&b]", 2, "intersections"), ("[a-\\d]", 3, "end of a range"),
            ("(a{100}){100}", 0, "too long"), (String(repeating: "a", count: 1_001), 1_000, "more than 1000"),
            (String(repeating: "(", count: 60), 50, "nested"),
        ])
    func refuses(_ pattern: String, _ offset: Int, _ reason: String) {
        let error = #expect(throws: FormatError.self) { try Format(pattern) }
        #expect(error?.offset == offset)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(
        "A match takes work in proportion to the text",
        arguments: [
            "^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "^([a-zA-Z]+)*$", "^(.*a){20}$", "^(a?){50}a{50}$", "^(((a*)*)*)*$",
        ])
    func isLinear(_ pattern: String) throws {
        // A matcher that goes back would need 2 to the power of 3,000 steps, and never end.
        let format = try Format(pattern)
        #expect(!format.matches(String(repeating: "a", count: 3_000) + "!"))
    }

    @Test("A repetition of nothing ends, and so does a match of a text that is too long")
    func isBounded() throws {
        let nothing = try Format("^((((){1000}){1000}){1000}){1000}$")
        #expect(nothing.matches(""))
        #expect(!nothing.matches("a"))
        let format = try Format("^.*$")
        #expect(format.matches(String(repeating: "a", count: 100_000)))
        #expect(!format.matches(String(repeating: "a", count: 1_000_000)))
    }
}
