import ArgumentParser
import DefaultsCore

/// The conversion of words between this command and the shell that requests completions.
enum ShellWord {
    /// Returns the unquoted text of a word on the command line; bash and zsh pass the word as it was typed.
    static func value(_ word: String) -> String {
        CompletionShell.requesting == .fish ? word : TypedWord(word).value
    }

    /// Returns the possible completions of a word, in the form that the shell's completion script expects.
    ///
    /// Names with control characters, or with characters that reorder text, are left out.
    ///
    /// The bash script inserts the words as they are, so this function quotes them. zsh and fish quote the words and
    /// filter them by prefix themselves; the zsh script treats the text after a colon as a description.
    ///
    /// - Parameters:
    ///   - names: The names to choose from.
    ///   - typed: The word up to the cursor.
    ///   - arePaths: Whether a tilde at the beginning of the word stands for the home directory.
    /// - Returns: The words, sorted.
    static func candidates(_ names: some Sequence<String>, for typed: String, arePaths: Bool = false) -> [String] {
        let names = names.filter { name in name.unicodeScalars.elementsEqual(name.printable.unicodeScalars) }.sorted()
        switch CompletionShell.requesting {
        case .bash:
            let word = TypedWord(typed)
            if word.beginsWithTilde, !arePaths { return [] }
            return names.compactMap(word.completed)
        case .zsh: return names.map { $0.reduce(into: "") { $0 += ":\\".contains($1) ? "\\\($1)" : String($1) } }
        // fish doesn't quote a tilde, so it would expand one.
        default: return arePaths ? names : names.filter { $0.unicodeScalars.first != "~" }
        }
    }
}
