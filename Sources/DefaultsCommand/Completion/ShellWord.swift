import ArgumentParser
import DefaultsCore

/// The words of a command line, as the shell that asks for completions hands them over and takes them.
enum ShellWord {
    /// The text that a word on the command line stands for; bash and zsh hand it over as it was typed.
    static func value(_ word: String) -> String {
        CompletionShell.requesting == .fish ? word : TypedWord(word).value
    }

    /// The names that a word may become, as the shell's completion script takes them.
    ///
    /// Names with characters that a terminal obeys, or that show text in another order, are left out.
    ///
    /// The script for bash inserts the words as they are, so they are quoted here. zsh and fish quote what they insert, and
    /// leave out what doesn't match; the script for zsh takes what is behind a colon as a description.
    ///
    /// - Parameters:
    ///   - names: the names.
    ///   - typed: the word up to the cursor.
    ///   - arePaths: whether a tilde that begins the word stands for the home directory.
    /// - Returns: the words, in order.
    static func candidates(_ names: some Sequence<String>, for typed: String, arePaths: Bool = false) -> [String] {
        let names = names.filter { name in name.unicodeScalars.elementsEqual(name.printable.unicodeScalars) }.sorted()
        switch CompletionShell.requesting {
        case .bash:
            let word = TypedWord(typed)
            if word.beginsWithTilde, !arePaths { return [] }
            return names.compactMap(word.completed)
        case .zsh: return names.map { $0.reduce(into: "") { $0 += ":\\".contains($1) ? "\\\($1)" : String($1) } }
        // fish would have the shell replace a tilde.
        default: return arePaths ? names : names.filter { $0.unicodeScalars.first != "~" }
        }
    }
}
