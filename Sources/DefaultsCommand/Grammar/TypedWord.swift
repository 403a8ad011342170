import ArgumentParser
import DefaultsCore

/// A word as it was typed in bash or zsh, whole or up to the cursor, with its quoting.
///
/// The word is processed as Unicode scalars, so a quotation mark counts even if a combining accent follows it.
struct TypedWord {
    /// The unquoted text of the word.
    private(set) var value = ""
    /// Whether it begins with a tilde that the shell expands.
    let beginsWithTilde: Bool
    private let text: String
    /// The quotation mark that is still open.
    private var quote: Unicode.Scalar?
    /// Whether the last character is the mark that opened the quote.
    private var isJustOpened = false
    /// Whether the last character is a backslash that escapes the next one.
    private var isEscaping = false
    /// Whether the shell would expand the word or a part of it.
    private var isExpanded = false

    init(_ text: String) {
        self.text = text
        beginsWithTilde = text.unicodeScalars.first == "~"
        for (index, scalar) in text.unicodeScalars.enumerated() {
            isJustOpened = false
            switch (scalar, quote) {
            case (_, let quote) where isEscaping:
                isEscaping = false
                if quote != nil, !Self.isEscapable(scalar), scalar != "\"" { append("\\") }
                append(scalar)
            case ("\\", nil), ("\\", "\""): isEscaping = true
            case ("'", nil), ("\"", nil):
                quote = scalar
                isJustOpened = true
            case (let scalar, let open?) where scalar == open: quote = nil
            case (_, nil): append(scalar, isPlain: Self.isPlain(scalar) || (index == 0 && beginsWithTilde))
            case (_, "\""): append(scalar, isPlain: !Self.isEscapable(scalar) && scalar != "!")
            default: append(scalar)
            }
        }
    }

    private mutating func append(_ scalar: Unicode.Scalar, isPlain: Bool = true) {
        value.unicodeScalars.append(scalar)
        if !isPlain { isExpanded = true }
    }

    /// Returns the typed text completed to a name, in the style of quoting that was begun.
    ///
    /// readline closes an open quote after the text, unless the text ends with that mark. If the text to insert
    /// directly after an opening mark begins with that mark, it replaces the opening mark.
    ///
    /// - Returns: The text; `nil` if the word can't become the name.
    func completed(to name: String) -> String? {
        guard !isExpanded, name.utf8.starts(with: value.utf8) else { return nil }
        var rest = Substring(name.utf8.dropFirst(value.utf8.count)).unicodeScalars
        var result = String.UnicodeScalarView()
        if isEscaping {
            guard let first = rest.popFirst(), quote == nil || Self.isEscapable(first) else { return nil }
            result.append(first)
        }
        guard let quote else {
            for scalar in rest { result += Self.isPlain(scalar) ? [scalar] : ["\\", scalar] }
            return text + String(result)
        }
        var isOpen = true
        for scalar in rest {
            // Neither can be written inside these quotes: a backslash before `!` would stay there.
            let mustBeOutside = scalar == quote || (scalar == "!" && quote == "\"")
            if isOpen == mustBeOutside {
                result.append(quote)
                isOpen.toggle()
            }
            if mustBeOutside || (quote == "\"" && Self.isEscapable(scalar)) { result.append("\\") }
            result.append(scalar)
        }
        switch (isOpen, (result.last ?? text.unicodeScalars.last) == quote) {
        case (true, true): result.append(quote)
        case (false, false): result += [quote, quote]
        default: break
        }
        if isJustOpened, result.first == quote { result.insert(quote, at: result.startIndex) }
        return text + String(result)
    }

    /// Returns whether a character needs no quoting, anywhere in a word.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", ".", "/", "-", "+", ",", "%", "@", ":", "=": true
        default: scalar.value >= 0x80
        }
    }

    /// Returns whether a character has a special meaning between double quotes, which a backslash removes.
    private static func isEscapable(_ scalar: Unicode.Scalar) -> Bool { "$`\\".unicodeScalars.contains(scalar) }
}

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
