/// Names and literals for generated source.
enum Identifier {
    /// Returns a lower camel-case name, such as `fontSize` for "FontSize" or "font-size".
    static func member(_ text: String) -> String {
        let words = words(text)
        let first = words.first.map(lowercasedStart) ?? "value"
        let name = first + words.dropFirst().map(capitalized).joined()
        return name.first?.isNumber == true ? "value\(name)" : name
    }

    /// Returns an upper camel-case name, such as `FontSize`.
    static func type(_ text: String) -> String {
        let name = words(text).map(capitalized).joined()
        return name.isEmpty || name.first?.isNumber == true ? "Value\(name)" : name
    }

    /// Returns a name in small letters with underscores, such as `font_size`.
    static func snake(_ text: String) -> String {
        var name = ""
        let characters = Array(member(text))
        for (index, character) in characters.enumerated() {
            let next = index + 1 < characters.count ? characters[index + 1] : "A"
            if character.isUppercase, index > 0, !characters[index - 1].isUppercase || next.isLowercase { name += "_" }
            name += character.lowercased()
        }
        return name
    }

    /// Returns the last part of a domain's name.
    static func lastPart(of domain: String) -> String { domain.split(separator: ".").last.map(String.init) ?? domain }

    /// Returns the shortest end of a domain's name whose type name differs from those of the other domains.
    static func distinctPart(of domain: String, beside others: some Sequence<String>) -> String {
        let parts = domain.split(separator: ".")
        func name(_ parts: [Substring], _ count: Int) -> String { type(parts.suffix(count).joined(separator: ".")) }
        let others = others.map { $0.split(separator: ".") }
        let count = (1...max(1, parts.count)).first { count in
            others.allSatisfy { name($0, count) != name(parts, count) }
        }
        return parts.suffix(count ?? parts.count).joined(separator: ".")
    }

    /// The parts of a text that may be in a name; only ASCII, which every language allows.
    private static func words(_ text: String) -> [Substring] {
        text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
    }

    private static func capitalized(_ word: Substring) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    /// Lowercases the first word of a name in camel case: "FontSize" → "fontSize", "URLScheme" → "urlScheme".
    private static func lowercasedStart(_ word: Substring) -> String {
        let capitals = word.prefix(while: \.isUppercase).count
        // The plural of an abbreviation, "URLs", is one word, too.
        if capitals > 1, word.dropFirst(capitals) == "s" { return word.lowercased() }
        let count = capitals > 1 && capitals < word.count ? capitals - 1 : capitals
        return word.prefix(max(1, count)).lowercased() + word.dropFirst(max(1, count))
    }

    /// A set of names that are used; each further one gets a number.
    struct Uniqueness {
        private var used: Set<String>

        init(_ used: Set<String> = []) { self.used = used }

        /// Returns a name that isn't used yet, in backquotes if it is a word of Swift.
        mutating func name(_ wanted: String) -> String {
            var name = wanted
            var number = 2
            while !used.insert(name).inserted {
                name = "\(wanted)\(number)"
                number += 1
            }
            return Identifier.reserved.contains(name) ? "`\(name)`" : name
        }
    }

    /// The words of Swift that can't be names of members without backquotes.
    private static let reserved: Set = [
        "Any", "Protocol", "Self", "Type", "as", "associatedtype", "break", "case", "catch", "class", "continue",
        "default",
        "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func",
        "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup",
        "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript",
        "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    /// Returns a text in quotation marks.
    static func literal(_ text: String, escape: (UInt32) -> String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _
            where scalar.value < 0x20 || scalar.properties.generalCategory == .control
                || scalar.properties.generalCategory == .format || scalar.properties.generalCategory == .lineSeparator
                || scalar.properties.generalCategory == .paragraphSeparator:
                result += escape(scalar.value)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// Returns the words of a text in lines of a width.
    static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(whereSeparator: \.isWhitespace) {
            if let last = lines.last, last.count + word.count < width {
                lines[lines.count - 1] += " \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
