import Glibc

/// Arguments of this process that are not UTF-8: paths of files, whose names may be any bytes.
///
/// The parser, and everything before it, works on text. So a text stands for such an argument: its bytes with escapes, a
/// NUL, which no argument has, and its number among the arguments. `FilePath` turns the text back into the bytes, and
/// `check` refuses it wherever no path of a file is expected.
enum ByteArgument {
    /// The verbs whose operands may be paths of any bytes.
    private static let verbs = ["convert", "diff", "export", "import"]

    /// Makes the text that stands for an argument.
    static func text(for argument: UnsafePointer<CChar>, at index: Int) -> String {
        "\(FilePath(bytes: bytes(argument)))\0\(index)"
    }

    /// The bytes that a text stands for: an argument's, or its own.
    static func bytes(of text: String) -> [UInt8] {
        guard let end = text.utf8.firstIndex(of: 0), let index = Int(text[text.utf8.index(after: end)...]),
            index < Int(CommandLine.argc), let argument = CommandLine.unsafeArgv[index]
        else { return Array(text.utf8) }
        return bytes(argument)
    }

    private static func bytes(_ argument: UnsafePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
    }

    /// Whether a text stands for an argument that is not UTF-8.
    static func isOne(_ text: String) -> Bool { text.utf8.contains(0) }

    /// Checks that prepared arguments are UTF-8, other than the operands of verbs that take any path.
    static func check(_ arguments: [String]) throws(Failure) {
        let texts = arguments.filter(isOne)
        if texts.isEmpty { return }
        var words = Arguments.withoutPlace(arguments)
        let operands = verbs.contains(words.popFirst() ?? "") ? Arguments.operands(words) : []
        for text in texts where !operands.contains(text) { throw failure(text) }
    }

    /// The failure where text is expected.
    static func failure(_ text: String) -> Failure {
        Failure(
            "\"\(text.prefix { $0 != "\0" })\" is not UTF-8, as all text of preferences is; nothing was done. `convert`, "
                + "`import`, `export` and `diff` take such names of files, and -data takes values of bytes.", .usage)
    }
}
