import DefaultsCore
import Testing

@Suite("Printable text")
struct PrintableTextTests {
    @Test(
        "Printable text escapes line breaks and control characters and leaves other text unchanged",
        arguments: [
            ("a\tb\r\n", #"a\tb\r\n"#), ("\u{1B}[2J\u{9B}2J\u{7F}", #"\u001b[2J\u009b2J\u007f"#),
            ("\u{2028}\u{202E}\u{2067}", #"\u2028\u202e\u2067"#), ("\"é\\ 👩‍👩‍👧", "\"é\\ 👩‍👩‍👧"),
        ])
    func printable(text: String, expected: String) {
        #expect(text.printable == expected)
    }
}
