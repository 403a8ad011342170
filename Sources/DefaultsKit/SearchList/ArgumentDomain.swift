package import DefaultsCore
import PropertyList

/// The command line's part of the search list, `NSArgumentDomain`: `-Key value` pairs, which overrule what is stored.
///
/// - Pairs begin at the second argument; the first is the program's name. `--` ends them.
/// - A key is `-` and at least one character more; one that begins with a second `-` belongs to the program's own
///   options, and so does one that looks like a number: both are passed over.
/// - A value is any argument that isn't a key or such an option. `-5` and `-.5` are values, and so is `-` alone.
/// - A key that no value follows has none; of equal keys the last one stands.
/// - A value that begins with one of `{ [ ( < "` is read as a property list, old style or XML, of which a fragment such
///   as `<integer>5</integer>` or `<true/>` will do. All others, and those that don't parse, are strings, unchanged.
///
/// (Apple's `NSUserDefaults`, "NSArgumentDomain"; negative numbers as values are ours.)
package enum ArgumentDomain {
    /// Reads a command line.
    ///
    /// - Parameter arguments: All of it, the program's name first.
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
