package import PropertyList

/// A value that breaks the manifest of its domain, or a key that the manifest doesn't know.
package struct Violation: Sendable, Hashable {
    /// The key of the domain.
    package var key: String
    /// The way to the value inside the key's value; empty for the key's value itself.
    package var path: [Step]
    package var rule: Rule
    /// The demand of the rule: the name of a type, the choices, a bound, an expression, or the target of a condition.
    package var limit: PropertyListValue?

    /// A step into a dictionary or an array.
    package enum Step: Sendable, Hashable {
        case name(String)
        case index(Int)
    }

    /// A rule of a manifest.
    package enum Rule: String, Sendable, Hashable, CaseIterable {
        case type, choice, flags, minimum, maximum, format, required, excluded, unknown
        case minimumLength = "minimum-length"
        case maximumLength = "maximum-length"
        /// The value is too large to be checked.
        case size

        /// The rules about a single value.
        ///
        /// Others are about several keys, which may be set one after the other.
        package static let ofOneValue = Set(allCases).subtracting([.excluded])
    }

    package init(key: String, path: [Step] = [], rule: Rule, limit: PropertyListValue? = nil) {
        (self.key, self.path, self.rule, self.limit) = (key, path, rule, limit)
    }

    /// The place of the value, such as `Window.Size[0]`.
    package var place: String {
        path.reduce(into: key) { place, step in
            switch step {
            case .name(let name): place += ".\(name)"
            case .index(let index): place += "[\(index)]"
            }
        }
    }
}

extension Violation: CustomStringConvertible {
    /// A sentence with the place and what would be right, without the value, which may be secret.
    package var description: String {
        let subject = "\"\(place)\""
        let wanted = limit.map(\.plainText) ?? ""
        return switch rule {
        case .type: "\(subject) must be \(Self.article(wanted))."
        case .choice: "\(subject) must be \(limit == nil ? "a value of the list" : "one of \(wanted)")."
        case .flags: "\(subject) must be a sum of \(limit == nil ? "values of the list" : wanted)."
        case .minimum: "\(subject) must be at least \(wanted)."
        case .maximum: "\(subject) must be at most \(wanted)."
        case .minimumLength: "\(subject) must have a length of at least \(wanted)."
        case .maximumLength: "\(subject) must have a length of at most \(wanted)."
        case .format: "\(subject) must match the format \(wanted)."
        case .required: "\(subject) is required."
        case .excluded: "\(subject) has no effect with the current value of \"\(wanted)\"."
        case .size: "\(subject) is too large to be checked by the manifest."
        case .unknown: "\(subject) is not a key that the manifest describes."
        }
    }

    private static func article(_ kind: String) -> String {
        switch ManifestKey.Kind(rawValue: kind) {
        case .string: "a string"
        case .integer: "a whole number"
        case .real: "a number"
        case .boolean: "a Boolean"
        case .date: "a date"
        case .data: "data"
        case .array: "an array"
        case .dictionary: "a dictionary"
        case nil: kind
        }
    }
}

extension PropertyListValue {
    /// The value as a short text, but a string without quotation marks.
    package var plainText: String { if case .string(let text) = self { text } else { shortText } }

    /// The value as a short text for people: strings in quotation marks, the elements of an array with commas.
    package var shortText: String {
        switch self {
        case .string(let text): "\"\(text)\""
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .real(let number): "\(number)"
        case .real32(let number): "\(number)"
        case .boolean(let isTrue): isTrue ? "true" : "false"
        case .date(let date): "\(date)"
        case .data(let bytes): "\(bytes.count) bytes of data"
        case .array(let elements): elements.map(\.shortText).joined(separator: ", ")
        case .dictionary(let entries):
            entries.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value.shortText)" }.joined(separator: ", ")
        case .uid(let number): "object \(number)"
        }
    }
}
