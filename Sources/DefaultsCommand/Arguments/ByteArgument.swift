import Glibc

/// Command-line arguments that aren't UTF-8: file names, which may be any bytes.
///
/// The parser needs text, so each of these arguments is replaced by a placeholder: its escaped bytes, a NUL (which no
/// argument contains) and its index. `FilePath` restores the bytes; `check` rejects a placeholder where no file is
/// expected.
enum ByteArgument {
    /// The verbs whose operands may be file names of any bytes.
    private static let verbs = ["convert", "diff", "export", "import"]

    /// Returns the placeholder for an argument.
    static func text(for argument: UnsafePointer<CChar>, at index: Int) -> String {
        "\(FilePath(bytes: bytes(argument)))\0\(index)"
    }

    /// Returns the bytes of the argument that a placeholder stands for; for other text, the bytes of the text.
    static func bytes(of text: String) -> [UInt8] {
        guard let end = text.utf8.firstIndex(of: 0), let index = Int(text[text.utf8.index(after: end)...]),
            index < Int(CommandLine.argc), let argument = CommandLine.unsafeArgv[index]
        else { return Array(text.utf8) }
        return bytes(argument)
    }

    private static func bytes(_ argument: UnsafePointer<CChar>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
    }

    /// Returns whether a text is a placeholder.
    static func isOne(_ text: String) -> Bool { text.utf8.contains(0) }

    /// Checks that prepared arguments are UTF-8, except for the operands of verbs that accept any path.
    static func check(_ arguments: [String]) throws(Failure) {
        let texts = arguments.filter(isOne)
        if texts.isEmpty { return }
        var words = Arguments.withoutLocation(arguments)
        let operands = verbs.contains(words.popFirst() ?? "") ? Arguments.operands(words) : []
        for text in texts where !operands.contains(text) { throw failure(text) }
    }

    /// Returns the error for an argument that isn't UTF-8 where text is required.
    static func failure(_ text: String) -> Failure {
        Failure(
            "\"\(text.prefix { $0 != "\0" })\" is not UTF-8, as preferences require; nothing was done. Only the files "
                + "of `convert`, `import`, `export` and `diff` may have such names, and -data takes any bytes.", .usage)
    }
}
