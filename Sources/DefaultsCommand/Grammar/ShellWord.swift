import ArgumentParser
import DefaultsCore

/// The conversion of words between this command and the shell that requests completions.
enum ShellWord {
    /// Returns the text that a word on the command line means; bash and zsh pass the word as it was typed.
    static func value(_ word: String) -> String {
        CompletionShell.requesting == .fish ? word : TypedWord(word).value
    }

    /// Returns the names that a word may become, in the form that the shell's completion script expects.
    ///
    /// Names with control characters, or with characters that reorder text, are left out.
    ///
    /// The bash script inserts the words as they are, so they are quoted here. zsh and fish quote the words and filter
    /// them by prefix themselves; the zsh script takes the text after a colon as a description.
    ///
    /// - Parameters:
    ///   - names: The names.
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
        // fish leaves a tilde unquoted, so that it would be expanded.
        default: return arePaths ? names : names.filter { $0.unicodeScalars.first != "~" }
        }
    }
}
