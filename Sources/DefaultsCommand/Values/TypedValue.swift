import DefaultsCore
import Glibc
import PropertyList

/// Reads values whose type is said by an option, or isn't said.
enum TypedValue {
    /// What `-array` and `-dict` and those that add are; they take all that follows.
    static let composites: Set<String> = ["-array", "-array-add", "-dict", "-dict-add"]

    /// All options that say a type.
    static var options: Set<String> { composites.union(typed.keys) }

    /// Takes a value that is no array or dictionary, unless it is written as a property list.
    static func take(_ rest: inout ArraySlice<String>) throws(Failure) -> PropertyListValue {
        guard let option = rest.popFirst() else { throw Failure("A value is missing.", .usage) }
        if composites.contains(option) {
            throw Failure(
                "Cannot nest composite types: an array or dictionary inside another is written as a property list, "
                    + "such as '(a, b)' or '{k = v;}'.", .usage)
        }
        guard let (read, remedy) = typed[option] else {
            try checkOption(option)
            return try untyped(option)
        }
        guard let text = rest.popFirst() else { throw Failure("\(option) needs a value.", .usage) }
        guard let value = read(text) else {
            throw Failure("\"\(text)\" is no value for \(option), which takes \(remedy); nothing is written.", .usage)
        }
        return value
    }

    /// Looks for a misspelt option, which else would be taken for a string.
    private static func checkOption(_ text: String) throws(Failure) {
        guard text.hasPrefix("-") else { return }
        let isOfPlace = Arguments.isOfPlace(text)
        let near = isOfPlace ? " It belongs before the domain." : NearName.question(text, among: options)
        guard isOfPlace || !near.isEmpty else { return }
        throw Failure(
            "\"\(text)\" is no type of a value; leaving defaults unchanged.\(near) If it is meant as plain text, write "
                + "-string before it.", .usage)
    }

    private typealias Reader = (read: @Sendable (String) -> PropertyListValue?, remedy: String)

    private static let integer: Reader = (
        { text in Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) } },
        "a whole number from \(Int64.min) to \(UInt64.max)"
    )
    private static let boolean: Reader = (
        { text in
            switch text.lowercased() {
            case "true", "yes", "1": .boolean(true)
            case "false", "no", "0": .boolean(false)
            default: nil
            }
        }, "true, false, yes or no"
    )
    private static let typed: [String: Reader] = [
        "-string": ({ .string($0) }, "any text"),
        "-int": integer, "-integer": integer,
        "-float": ({ real($0).map { .real($0) } }, "a finite number that fits 64 bits, such as 1.5 or 2e-3"),
        "-bool": boolean, "-boolean": boolean,
        "-data": (
            { text in
                guard text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
                // Of an odd number the first stands alone, as on macOS.
                return try? parse("<\(text.utf8.count.isMultiple(of: 2) ? "" : "0")\(text)>")
            },
            "hexadecimal digits, two a byte"
        ),
        "-date": (
            { text in TypedDate.read(text).map { .date($0) } },
            "YYYY-MM-DD, \"YYYY-MM-DD HH:MM:SS\" or either with T, Z or a zone such as +0100"
        ),
    ]

    /// Reads a number; `nil` when it is none, is infinite, or comes to nothing but isn't zero.
    private static func real(_ text: String) -> Double? {
        guard let number = Double(text), number.isFinite else { return nil }
        let digits = text.lowercased().prefix { $0 != "e" && $0 != "p" }.drop { "+-0.x".contains($0) }
        return number == 0 && !digits.isEmpty ? nil : number
    }

    /// Reads a value without a type: anything with brackets or quotes is a property list, other text is as between quotes,
    /// where a backslash begins an escape.
    static func untyped(_ text: String) throws(Failure) -> PropertyListValue {
        let isPropertyList = text.contains { "\"()[]{}<>".contains($0) }
        if !isPropertyList, !text.utf8.contains(UInt8(ascii: "\\")) { return .string(text) }
        if !isPropertyList { try checkEscapes(text) }
        do throws(PropertyListError) {
            let value = try parse(isPropertyList ? text : "\"\(text)\"")
            noteEscapes(text, value)
            return value
        } catch {
            if JSONReader.isLikely(Array(text.utf8)) {
                throw Failure(
                    "\"\(text)\" is JSON; write --json before the domain. If it is meant as plain text, write -string before "
                        + "it.", .dataError)
            }
            throw Failure(
                "Could not parse \"\(text)\": \(error) If it is meant as plain text, write -string before it.",
                .dataError)
        }
    }

    /// Looks for a backslash that begins no escape: the reader would drop it, from a path of Windows say.
    private static func checkEscapes(_ text: String) throws(Failure) {
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else { continue }
            if let next = rest.popFirst(), "abfnrtv\\'U01234567".unicodeScalars.contains(next) { continue }
            throw Failure(
                "\"\(text)\" has a backslash that begins no escape; leaving defaults unchanged. If it is meant as plain text, "
                    + "write -string before it.", .dataError)
        }
    }

    /// Tells a person whose text isn't stored as it was typed.
    private static func noteEscapes(_ text: String, _ value: PropertyListValue) {
        guard case .string(let string) = value, string != text, isatty(STDERR_FILENO) == 1 else { return }
        Failure.note(
            "\"\(text)\" was read as a property list, and is stored as \"\(named(string))\". "
                + "Write -string before it to store it as it is.")
    }

    /// A text whose control characters have names: as escapes they would look like the text that was typed.
    private static func named(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\n": result += "<newline>"
            case "\r": result += "<return>"
            case "\t": result += "<tab>"
            case "\0"..<" ", "\u{7F}":
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "<U+\(String(repeating: "0", count: 4 - digits.utf8.count))\(digits)>"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func parse(_ text: String) throws(PropertyListError) -> PropertyListValue {
        try PropertyListValue(parsing: Array(text.utf8), limits: Frame.requestLimits)
    }
}
