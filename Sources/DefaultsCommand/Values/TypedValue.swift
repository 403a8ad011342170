import DefaultsCore
import Glibc
import PropertyList

/// A parser for values with a type option, such as `-int 5`, or without one.
enum TypedValue {
    /// The type options of arrays and dictionaries, which use all remaining operands.
    static let composites: Set<String> = [
        "-array", "-array-add", "-dict", "-dict-add", "-flag", "-flag-add", "-flag-remove",
    ]

    /// All type options.
    static var options: Set<String> { composites.union(typed.keys) }

    /// Reads a single value, in which an array or dictionary must be written as a property list.
    static func parse(_ rest: inout ArraySlice<String>) throws(Failure) -> PropertyListValue {
        guard let option = rest.popFirst() else { throw Failure("A value is missing.", .usage) }
        if composites.contains(option) {
            throw Failure(
                "Cannot nest composite types. Write an array or dictionary inside another as a property list, such as "
                    + "'(a, b)' or '{k = v;}'.", .usage)
        }
        guard let (read, remedy) = typed[option] else {
            try checkOption(option)
            return try untyped(option)
        }
        guard let text = rest.popFirst() else { throw Failure("\(option) needs a value.", .usage) }
        guard let value = read(text) else {
            throw Failure(
                "\"\(text)\" is not a valid value for \(option), which takes \(remedy); nothing is written.", .usage)
        }
        return value
    }

    /// Rejects a misspelled type option, which would otherwise become a string.
    private static func checkOption(_ text: String) throws(Failure) {
        guard text.hasPrefix("-") else { return }
        let isLocationOption = Arguments.isLocationOption(text)
        let near = isLocationOption ? " It belongs before the domain." : Suggestion.question(text, among: options)
        guard isLocationOption || !near.isEmpty else { return }
        throw Failure(
            "Unknown type \"\(text)\"; leaving defaults unchanged.\(near) For plain text, put -string before it.",
            .usage)
    }

    private typealias Reader = (read: @Sendable (String) -> PropertyListValue?, remedy: String)

    private static let integer: Reader = (
        { text in Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) } },
        "an integer from \(Int64.min) to \(UInt64.max)"
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
        "-float": ({ real($0).map { .real($0) } }, "a finite 64-bit number such as 1.5 or 2e-3"),
        "-bool": boolean, "-boolean": boolean,
        "-data": (
            { text in
                guard text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
                // With an odd number of digits, the first is a byte by itself, as on macOS.
                return try? parse("<\(text.utf8.count.isMultiple(of: 2) ? "" : "0")\(text)>")
            },
            "hexadecimal digits, two per byte"
        ),
        "-date": (
            { text in TypedDate.read(text).map { .date($0) } },
            "a date such as 2019-02-19, \"2019-02-19 10:10:10\" or 2019-02-19T10:10:10Z"
        ),
    ]

    /// Reads a number; returns `nil` if it isn't one, is infinite, or underflows to zero.
    private static func real(_ text: String) -> Double? {
        guard let number = Double(text), number.isFinite else { return nil }
        let digits = text.lowercased().prefix { $0 != "e" && $0 != "p" }.drop { "+-0.x".contains($0) }
        return number == 0 && !digits.isEmpty ? nil : number
    }

    /// Reads a value without a type option.
    ///
    /// Text with brackets or quotes is a property list. Other text is a string, in which a backslash begins an escape.
    static func untyped(_ text: String) throws(Failure) -> PropertyListValue {
        let isPropertyList = text.contains { "\"()[]{}<>".contains($0) }
        if !isPropertyList, !text.utf8.contains(UInt8(ascii: "\\")) { return .string(text) }
        if !isPropertyList { try checkEscapes(text) }
        do throws(PropertyListError) {
            let value = try parse(isPropertyList ? text : "\"\(text)\"")
            reportEscapes(text, value)
            return value
        } catch {
            if JSONReader.isLikely(Array(text.utf8)) {
                throw Failure(
                    "\"\(text)\" is JSON. Put --json before the domain. For plain text, put -string before it.",
                    .dataError)
            }
            throw Failure(
                "Could not parse \"\(text)\": \(error) For plain text, put -string before it.",
                .dataError)
        }
    }

    /// Rejects a backslash that doesn't begin an escape: the parser would drop it, for example from a Windows path.
    private static func checkEscapes(_ text: String) throws(Failure) {
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else { continue }
            if let next = rest.popFirst(), "abfnrtv\\'U01234567".unicodeScalars.contains(next) { continue }
            throw Failure(
                "\"\(text)\" has an invalid escape sequence; leaving defaults unchanged. For plain text, put -string "
                    + "before it.", .dataError)
        }
    }

    /// Reports that text is not stored as it was typed, if standard error is a terminal.
    private static func reportEscapes(_ text: String, _ value: PropertyListValue) {
        guard case .string(let string) = value, string != text, isatty(STDERR_FILENO) == 1 else { return }
        Failure.report(
            "\"\(text)\" was parsed as a property list and is stored as \"\(named(string))\". "
                + "To store it literally, put -string before it.")
    }

    /// Returns text in which names replace control characters, because escapes would look like the text that was typed.
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
