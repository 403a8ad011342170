import DefaultsCore
import PropertyList

/// Reads what follows the domain in `defaults write`: Apple's grammar of values.
enum Operands {
    /// What is to be written.
    enum Edit: Hashable {
        case set(key: String, PropertyListValue)
        case replaceAll(DomainValues)
    }

    /// Reads a key and a value, or a dictionary alone.
    static func parse(_ operands: [String]) throws(Failure) -> Edit {
        guard let first = operands.first else {
            throw Failure("Name a key and a value, or give a dictionary; see `defaults write --help`.", .usage)
        }
        guard operands.count > 1 else {
            guard case .dictionary(let values) = try propertyList(first) else {
                throw Failure(
                    "\"\(first)\" alone is no dictionary; give a key and a value, or '{key = value;}'.", .usage)
            }
            return .replaceAll(values)
        }
        var rest = operands[1...]
        let value = try value(&rest)
        guard let surplus = rest.first else { return .set(key: first, value) }
        throw Failure("\"\(surplus)\" is one argument too many; nothing is written.", .usage)
    }

    /// Takes a value, with the option that says its type.
    private static func value(_ rest: inout ArraySlice<String>) throws(Failure) -> PropertyListValue {
        switch rest.first {
        case "-array"?:
            rest.removeFirst()
            var elements: [PropertyListValue] = []
            while !rest.isEmpty { elements.append(try scalar(&rest)) }
            return .array(elements)
        case "-dict"?:
            rest.removeFirst()
            var entries: DomainValues = [:]
            while let key = rest.popFirst() {
                guard !rest.isEmpty else { throw Failure("The key \"\(key)\" lacks a value.", .usage) }
                entries[key] = try scalar(&rest)
            }
            return .dictionary(entries)
        default:
            return try scalar(&rest)
        }
    }

    /// Takes a value that is no array or dictionary, unless it is written as a property list.
    private static func scalar(_ rest: inout ArraySlice<String>) throws(Failure) -> PropertyListValue {
        guard let option = rest.popFirst() else { throw Failure("A value is missing.", .usage) }
        guard let read = typed[option] else {
            if option == "-array" || option == "-dict" {
                throw Failure("An array or dictionary inside another is written as a property list: '(a, b)'.", .usage)
            }
            return try propertyList(option)
        }
        guard let text = rest.popFirst() else { throw Failure("\(option) needs a value.", .usage) }
        guard let value = read(text) else {
            throw Failure("\"\(text)\" is no value for \(option); nothing is written.", .usage)
        }
        return value
    }

    private static let typed: [String: @Sendable (String) -> PropertyListValue?] = [
        "-string": { .string($0) },
        "-int": integer, "-integer": integer,
        "-float": { Double($0).map { .real($0) } },
        "-bool": boolean, "-boolean": boolean,
        "-data": { text in text.allSatisfy(\.isHexDigit) ? try? parse("<\(text)>") : nil },
        "-date": { text in PropertyListDate(text).map { .date($0) } ?? (try? parse("<*D\(text)>")) },
    ]

    @Sendable private static func integer(_ text: String) -> PropertyListValue? {
        Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) }
    }

    @Sendable private static func boolean(_ text: String) -> PropertyListValue? {
        switch text.lowercased() {
        case "true", "yes", "1": .boolean(true)
        case "false", "no", "0": .boolean(false)
        default: nil
        }
    }

    /// Reads a value without a type: plain text is a string, anything with brackets or quotes a property list.
    private static func propertyList(_ text: String) throws(Failure) -> PropertyListValue {
        guard text.contains(where: { "\"()[]{}<>".contains($0) }) else { return .string(text) }
        do throws(PropertyListError) {
            return try parse(text)
        } catch {
            throw Failure("\(error) If it is meant as plain text, write -string before it.", .dataError)
        }
    }

    private static func parse(_ text: String) throws(PropertyListError) -> PropertyListValue {
        try PropertyListValue(parsing: Array(text.utf8), limits: Frame.requestLimits)
    }
}
