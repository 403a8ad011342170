package import DefaultsCore
import PropertyList

/// What follows the domain in `defaults write`: Apple's grammar of values.
package enum WriteOperands {
    /// A key and its value.
    case key(KeyText, NewValue)
    /// All keys of the domain.
    case all(DomainValues)

    /// Reads a key and a value, or a dictionary alone.
    package init(_ operands: [String], isPath: Bool) throws(Failure) {
        var rest = operands[...]
        var isPath = isPath
        if rest.first == "--key-path" {
            isPath = true
            rest.removeFirst()
        }
        // Behind it a key may look like an option.
        if rest.first == "--" { rest.removeFirst() } else { try Self.checkKey(rest.first) }
        guard let first = rest.popFirst() else {
            throw Failure("Name a key and a value, or give a dictionary; see `defaults write --help`.", .usage)
        }
        guard let option = rest.first else {
            guard case .dictionary(let values) = try TypedValue.untyped(first) else {
                throw Failure(
                    "\"\(first)\" alone is no dictionary; give a key and a value, or '{key = value;}'. "
                        + "Defaults have not been changed.", .usage)
            }
            self = .all(values)
            return
        }
        let value: NewValue
        if TypedValue.composites.contains(option) {
            rest.removeFirst()
            switch option {
            case "-array": value = .set(.array(try Self.elements(&rest)))
            case "-array-add": value = .append(try Self.elements(&rest))
            case "-dict": value = .set(.dictionary(try Self.entries(&rest)))
            default: value = .merge(try Self.entries(&rest))
            }
        } else {
            value = .set(try TypedValue.take(&rest))
            if option.hasPrefix("-"), rest.count == 1, !TypedValue.options.contains(option) {
                throw Failure("\"\(option)\" is no type of a value; leaving defaults unchanged.", .usage)
            }
        }
        if let surplus = rest.first {
            let remedy = Arguments.isOfPlace(surplus) ? " It belongs before the domain." : ""
            throw Failure("Unexpected argument \"\(surplus)\"; leaving defaults unchanged.\(remedy)", .usage)
        }
        self = .key(KeyText(text: first, isPath: isPath), value)
    }

    /// Reads a key and its value as JSON, or an object alone.
    package init(json operands: [String], isPath: Bool) throws(Failure) {
        guard let text = operands.last, operands.count <= 2 else {
            throw Failure("With --json, give a key and its value as JSON, or an object alone.", .usage)
        }
        let value: PropertyListValue
        do throws(Failure) {
            value = try JSONReader.read(Array(text.utf8), limits: Frame.requestLimits)
        } catch {
            throw Failure("\(error.message) Defaults have not been changed.", error.status)
        }
        if operands.count == 2 {
            self = .key(KeyText(text: operands[0], isPath: isPath), .set(value))
        } else if case .dictionary(let values) = value {
            self = .all(values)
        } else {
            throw Failure("The JSON alone is no object; give a key, or '{\"key\": value}'.", .usage)
        }
    }

    /// Looks for an option where the key should be, since nobody has keys of such names.
    private static func checkKey(_ key: String?) throws(Failure) {
        guard let key else { return }
        let remedy: String
        if Arguments.isOfPlace(key) {
            remedy = "\(key) belongs before the domain"
        } else if TypedValue.options.contains(key) {
            remedy = "The key is missing before \(key)"
        } else {
            return
        }
        throw Failure("\(remedy); leaving defaults unchanged. A key of that name has -- before it.", .usage)
    }

    private static func elements(_ rest: inout ArraySlice<String>) throws(Failure) -> [PropertyListValue] {
        var elements: [PropertyListValue] = []
        while !rest.isEmpty { elements.append(try TypedValue.take(&rest)) }
        return elements
    }

    private static func entries(_ rest: inout ArraySlice<String>) throws(Failure) -> DomainValues {
        var entries: DomainValues = [:]
        while !rest.isEmpty {
            guard case .string(let key) = try TypedValue.take(&rest) else {
                throw Failure("The keys of a dictionary must be strings; nothing is written.", .usage)
            }
            guard !rest.isEmpty else { throw Failure("Key \"\(key)\" lacks a corresponding value.", .usage) }
            entries[key] = try TypedValue.take(&rest)
        }
        return entries
    }
}
