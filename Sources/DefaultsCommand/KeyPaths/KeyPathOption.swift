import ArgumentParser

/// Whether a key is said to be a path.
struct KeyPathOption: ParsableArguments {
    @Flag(
        name: .customLong("key-path"),
        help: "Takes the key as a path in any case; `write` then makes the dictionaries that are missing.")
    var isPath = false

    /// What the help of each command with a key says of paths.
    static let discussion = """
        A key that is there is taken as it is typed, dots and all, unless it has a "\\." or "\\\\". Else, where the text up to a dot is the key of an \
        array or a dictionary, the rest leads into it: keys of dictionaries and indices of arrays, as in "Windows.0.Title". \
        "\\." is a dot of a key and "\\\\" a backslash.
        """

    /// A key as it was typed.
    func key(_ text: String) -> KeyText { KeyText(text: text, isPath: isPath) }
}
