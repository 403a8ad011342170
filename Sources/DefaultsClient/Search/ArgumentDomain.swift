package import DefaultsCore
import PropertyList

/// The command line's part of the search list, `NSArgumentDomain`: `-Key value` pairs, which override stored values.
///
/// - Pairs begin at the second argument, since the first is the program's name. `--` ends them.
/// - A key is `-` followed by at least one character, the first of which is neither a digit nor a dot. An argument that
///   begins with `--` is one of the program's own options and is ignored.
/// - A value is any argument that isn't a key or such an option. `-5` and `-.5` are values, and so is `-` alone.
/// - A key without a value is ignored, and so is a value without a key. The last of several equal keys wins.
/// - A value that begins with one of `{ [ ( < "` is parsed as a property list, old-style or XML. A fragment such as
///   `<integer>5</integer>` or `<true/>` suffices. Any other value, or a value that doesn't parse, is used as a string.
///
/// The rules are those of Apple's `NSUserDefaults` ("NSArgumentDomain"), except that negative numbers are values.
package enum ArgumentDomain {
    /// Parses a command line.
    ///
    /// - Parameter arguments: The arguments, including the program's name.
    /// - Returns: The values by key.
    package static func values(in arguments: [String]) -> DomainValues {
        var values: DomainValues = [:]
        var key: String?
        for argument in arguments.dropFirst() {
            if argument == "--" { break }
            if isOption(argument) {
                key = argument.hasPrefix("--") ? nil : String(argument.dropFirst())
            } else if let name = key {
                values[name] = value(of: argument)
                key = nil
            }
        }
        return values
    }

    private static func isOption(_ argument: String) -> Bool {
        let bytes = argument.utf8
        guard bytes.first == UInt8(ascii: "-"), let second = bytes.dropFirst().first else { return false }
        return second != UInt8(ascii: ".") && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(second)
    }

    private static func value(of text: String) -> PropertyListValue {
        guard let first = text.utf8.first, "{[(<\"".utf8.contains(first) else { return .string(text) }
        let value = try? PropertyListValue(parsing: [UInt8](text.utf8))
        return value ?? .string(text)
    }
}
