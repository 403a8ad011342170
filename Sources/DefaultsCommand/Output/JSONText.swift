import DefaultsCore
package import PropertyList

/// The JSON form of values, which preserves their types.
///
/// A value of a type that JSON lacks is an object with one key.
///
/// Data is `{"$data": base64}`, a date `{"$date": RFC 3339}`, the uid of a keyed archive `{"$uid": n}`, and a real that
/// isn't finite `{"$real": "nan"}`. An integer may be `{"$integer": text}`. If the only key of a dictionary looks like
/// one of these, it gets another `$`: it is written as `$$data`, and `$$data` as `$$$data`. Reals have a fraction or an
/// exponent, which distinguishes them from integers; integers are exact. Keys are sorted.
package enum JSONText {
    /// Returns a value as one line of JSON.
    package static func of(_ value: PropertyListValue) -> String { text(value, isForDoubles: false) }

    /// Returns a value as one line of JSON for a reader that may hold numbers as doubles: an integer beyond 2^53, which
    /// such a reader would change, is `{"$integer": text}`.
    static func forDoubles(_ value: PropertyListValue) -> String { text(value, isForDoubles: true) }

    /// Returns a document that is JSON by itself, such as a schema: keys are written as they are.
    static func ofDocument(_ value: PropertyListValue) -> String {
        switch value {
        case .dictionary(let entries):
            object(entries.sorted { $0.key < $1.key }.map { ($0.key, ofDocument($0.value)) })
        case .array(let elements): "[" + elements.map(ofDocument).joined(separator: ",") + "]"
        default: of(value)
        }
    }

    private static func text(_ value: PropertyListValue, isForDoubles: Bool) -> String {
        var text = ""
        append(value, to: &text, isForDoubles)
        return text
    }

    /// Returns an object as one line of JSON, with its keys in the given order.
    package static func object(_ entries: [(key: String, value: String)]) -> String {
        "{" + entries.map { "\(string($0.key)):\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Returns a string as JSON.
    static func string(_ text: String) -> String {
        var result = "\""
        append(text, to: &result)
        return result + "\""
    }

    private static func append(_ value: PropertyListValue, to text: inout String, _ isForDoubles: Bool) {
        switch value {
        case .string(let string): text += self.string(string)
        case .integer(let number):
            text += isForDoubles && number.magnitude > 1 << 53 ? wrapped("integer", "\(number)") : "\(number)"
        case .unsigned(let number): text += isForDoubles ? wrapped("integer", "\(number)") : "\(number)"
        case .real(let number): text += number.isFinite ? number.description : wrapped("real", number.description)
        case .real32(let number): text += number.isFinite ? number.description : wrapped("real", number.description)
        case .boolean(let flag): text += flag ? "true" : "false"
        case .date(let date): text += wrapped("date", date.description)
        case .data(let bytes):
            var encoded: [UInt8] = []
            Base64.encode(bytes[...], to: &encoded)
            text += wrapped("data", String(decoding: encoded, as: UTF8.self))
        case .uid(let number): text += "{\"$uid\":\(number)}"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                append(element, to: &text, isForDoubles)
            }
            text += "]"
        case .dictionary(let entries):
            text += "{"
            for (index, entry) in entries.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                text += string(entries.count == 1 && isReserved(entry.key) ? "$\(entry.key)" : entry.key) + ":"
                append(entry.value, to: &text, isForDoubles)
            }
            text += "}"
        }
    }

    /// Returns whether a dictionary with only this key would be mistaken for another value, or for an escaped key.
    static func isReserved(_ key: String) -> Bool {
        key.hasPrefix("$") && ["data", "date", "uid", "real", "integer"].contains(key.drop { $0 == "$" })
    }

    private static func wrapped(_ type: String, _ value: String) -> String {
        "{\"$\(type)\":\(string(value))}"
    }

    private static func append(_ string: String, to text: inout String) {
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            default: scalar.writePrintable(to: &text)
            }
        }
    }
}
