import ArgumentParser

/// A word as a shell has it, and as it is meant.
enum ShellWord {
    /// What a word on the command line stands for; bash and zsh hand it over as it was typed.
    static func value(_ word: String) -> String {
        guard CompletionShell.requesting != .fish else { return word }
        var result = ""
        var quote: Character?
        var characters = word.makeIterator()
        while let character = characters.next() {
            switch (character, quote) {
            case ("\\", nil), ("\\", "\""): result += characters.next().map { String($0) } ?? "\\"
            case ("'", nil), ("\"", nil): quote = character
            case (let character, let open?) where character == open: quote = nil
            default: result.append(character)
            }
        }
        return result
    }

    /// A name in the form in which the shell's completion script takes a candidate.
    ///
    /// The script for bash has `compgen -W` expand it, commands and variables included, so that a name must be quoted;
    /// the one for zsh takes what is behind a colon as its description. All three quote what they insert.
    static func candidate(_ name: String) -> String {
        switch CompletionShell.requesting {
        case .bash: "'\(name.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
        case .zsh: name.reduce(into: "") { $0 += ":\\".contains($1) ? "\\\($1)" : String($1) }
        default: name
        }
    }
}
