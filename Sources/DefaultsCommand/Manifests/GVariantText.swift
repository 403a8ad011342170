import PropertyList

/// A type of GVariant, by its signature.
///
/// https://docs.gtk.org/glib/gvariant-format-strings.html
indirect enum GVariantType: Equatable {
    case boolean, real, string, data, variant
    /// A whole number with its bounds, which an `Int64` may not hold.
    case integer(minimum: PropertyListValue?, maximum: PropertyListValue?)
    case array(GVariantType)
    case tuple([GVariantType])
    case dictionary(GVariantType)
    case maybe(GVariantType)

    /// Reads a signature; fails if it isn't one, or has dictionaries with keys other than strings.
    init?(_ signature: String) {
        var rest = Substring(signature)
        guard let type = Self.read(&rest, depth: 0), rest.isEmpty else { return nil }
        self = type
    }

    private static func read(_ rest: inout Substring, depth: Int) -> GVariantType? {
        guard depth < 32, let first = rest.popFirst() else { return nil }
        switch first {
        case "b": return .boolean
        case "y": return .integer(minimum: 0, maximum: 255)
        case "n": return .integer(minimum: .integer(Int64(Int16.min)), maximum: .integer(Int64(Int16.max)))
        case "q": return .integer(minimum: 0, maximum: .integer(Int64(UInt16.max)))
        case "i": return .integer(minimum: .integer(Int64(Int32.min)), maximum: .integer(Int64(Int32.max)))
        case "u": return .integer(minimum: 0, maximum: .integer(Int64(UInt32.max)))
        case "x", "h": return .integer(minimum: .integer(.min), maximum: .integer(.max))
        case "t": return .integer(minimum: 0, maximum: nil)
        case "d": return .real
        case "s", "o", "g": return .string
        case "v": return .variant
        case "m": return read(&rest, depth: depth + 1).map { .maybe($0) }
        case "a" where rest.first == "y":
            rest.removeFirst()
            return .data
        case "a" where rest.first == "{":
            rest.removeFirst()
            guard let key = read(&rest, depth: depth + 1), key == .string, let value = read(&rest, depth: depth + 1),
                rest.popFirst() == "}"
            else { return nil }
            return .dictionary(value)
        case "a": return read(&rest, depth: depth + 1).map { .array($0) }
        case "(":
            var parts: [GVariantType] = []
            while rest.first != ")" {
                guard let part = read(&rest, depth: depth + 1) else { return nil }
                parts.append(part)
            }
            rest.removeFirst()
            return .tuple(parts)
        default: return nil
        }
    }
}

/// A reader of values in GVariant's text format, for the defaults of GSettings.
///
/// https://docs.gtk.org/glib/gvariant-text-format.html
struct GVariantText {
    private var rest: Substring.UnicodeScalarView
    private var depth = 0

    private init(_ text: String) { rest = Substring(text).unicodeScalars }

    /// The text isn't a value of the type.
    struct Invalid: Error {}

    /// Reads a value of a type; returns `nil` for `nothing`.
    static func read(_ text: String, as type: GVariantType) throws(Invalid) -> PropertyListValue? {
        var reader = GVariantText(text)
        let value = try reader.value(type)
        reader.skipSpace()
        guard reader.rest.isEmpty else { throw Invalid() }
        return value
    }

    private mutating func value(_ type: GVariantType) throws(Invalid) -> PropertyListValue? {
        depth += 1
        defer { depth -= 1 }
        guard depth < 64 else { throw Invalid() }
        skipType()
        switch type {
        case .maybe(let inner):
            if skipWord("nothing") { return nil }
            _ = skipWord("just")
            return try value(inner)
        case .boolean:
            if skipWord("true") { return true }
            guard skipWord("false") else { throw Invalid() }
            return false
        case .integer: return try number()
        case .real:
            guard let number = Double(try word()) else { throw Invalid() }
            return .real(number)
        case .string: return .string(try string())
        case .data:
            if skip("b") { return .data(Array(try string().utf8) + [0]) }
            let bytes = try elements("[", "]") { _ in .integer(minimum: nil, maximum: nil) }
            return .data(
                try bytes.map { value throws(Invalid) in
                    guard case .integer(let number) = value, let byte = UInt8(exactly: number) else { throw Invalid() }
                    return byte
                })
        case .array(let element):
            // An empty dictionary without a type is also an empty array.
            if rest.first == "{", try entries(element).isEmpty { return .array([]) }
            return .array(try elements("[", "]") { _ in element })
        case .tuple(let parts):
            let elements = try elements("(", ")") { parts.indices.contains($0) ? parts[$0] : nil }
            guard elements.count == parts.count else { throw Invalid() }
            return .array(elements)
        case .dictionary(let element): return .dictionary(try entries(element))
        case .variant: return try variant()
        }
    }

    /// Reads a value in angle brackets, whose type shows in its text.
    private mutating func variant() throws(Invalid) -> PropertyListValue {
        skipSpace()
        guard skip("<") else { throw Invalid() }
        let value = try anyValue()
        skipSpace()
        guard skip(">") else { throw Invalid() }
        return value
    }

    private mutating func anyValue() throws(Invalid) -> PropertyListValue {
        depth += 1
        defer { depth -= 1 }
        guard depth < 64 else { throw Invalid() }
        skipSpace()
        // A type that is stated decides.
        if skip("@") {
            let signature = String(rest.prefix { !$0.properties.isWhitespace })
            rest.removeFirst(signature.unicodeScalars.count)
            guard let type = GVariantType(signature), let value = try value(type) else { throw Invalid() }
            return value
        }
        skipType()
        switch rest.first {
        case "<": return try variant()
        case "'", "\"": return .string(try string())
        case "[":
            return .array(try list("[", "]"))
        case "(": return .array(try list("(", ")"))
        case "{":
            rest.removeFirst()
            var entries: [String: PropertyListValue] = [:]
            while true {
                skipSpace()
                if skip("}") { return .dictionary(entries) }
                let key = try string()
                skipSpace()
                guard skip(":") else { throw Invalid() }
                entries[key] = try anyValue()
                skipSpace()
                guard skip(",") || rest.first == "}" else { throw Invalid() }
            }
        default:
            let word = try word()
            if word == "true" || word == "false" { return .boolean(word == "true") }
            if let number = PropertyListValue.integerLiteral(in: word) { return number }
            guard let number = Double(word) else { throw Invalid() }
            return .real(number)
        }
    }

    private mutating func list(_ open: Unicode.Scalar, _ close: Unicode.Scalar) throws(Invalid) -> [PropertyListValue] {
        guard skip(open) else { throw Invalid() }
        var values: [PropertyListValue] = []
        while true {
            skipSpace()
            if skip(close) { return values }
            values.append(try anyValue())
            skipSpace()
            guard skip(",") || rest.first == close else { throw Invalid() }
        }
    }

    /// Skips the annotation of a type, such as `@as` or `uint32`: the type is known.
    private mutating func skipType() {
        skipSpace()
        let names = [
            "boolean", "byte", "int16", "uint16", "int32", "uint32", "handle", "int64", "uint64", "double", "string",
            "objectpath", "signature",
        ]
        if rest.first == "@" || names.contains(where: { starts(with: "\($0) ") }) {
            rest = rest.drop { !$0.properties.isWhitespace }
            skipSpace()
        }
    }

    private mutating func elements(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ type: (Int) -> GVariantType?
    ) throws(Invalid) -> [PropertyListValue] {
        guard skip(open) else { throw Invalid() }
        var values: [PropertyListValue] = []
        while true {
            skipSpace()
            if skip(close) { return values }
            guard let type = type(values.count), let value = try value(type) else { throw Invalid() }
            values.append(value)
            skipSpace()
            guard skip(",") || rest.first == close else { throw Invalid() }
        }
    }

    private mutating func entries(_ type: GVariantType) throws(Invalid) -> [String: PropertyListValue] {
        if skip("[") {
            // An empty array without a type is also an empty dictionary.
            skipSpace()
            guard skip("]") else { throw Invalid() }
            return [:]
        }
        guard skip("{") else { throw Invalid() }
        var entries: [String: PropertyListValue] = [:]
        while true {
            skipSpace()
            if skip("}") { return entries }
            let key = try string()
            skipSpace()
            guard skip(":"), let value = try value(type) else { throw Invalid() }
            entries[key] = value
            skipSpace()
            guard skip(",") || rest.first == "}" else { throw Invalid() }
        }
    }

    private mutating func number() throws(Invalid) -> PropertyListValue {
        guard let number = PropertyListValue.integerLiteral(in: try word()) else { throw Invalid() }
        return number
    }

    private mutating func string() throws(Invalid) -> String {
        guard let quote = rest.first, quote == "'" || quote == "\"" else { throw Invalid() }
        rest.removeFirst()
        var text = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            if next == quote { return String(text) }
            guard next == "\\" else {
                text.append(next)
                continue
            }
            switch rest.popFirst() {
            case "n"?: text.append("\n")
            case "t"?: text.append("\t")
            case "r"?: text.append("\r")
            case "a"?: text.append("\u{7}")
            case "b"?: text.append("\u{8}")
            case "f"?: text.append("\u{C}")
            case "v"?: text.append("\u{B}")
            case let kind? where kind == "u" || kind == "U":
                let digits = String(rest.prefix(kind == "u" ? 4 : 8))
                guard let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) else { throw Invalid() }
                rest.removeFirst(digits.unicodeScalars.count)
                text.append(scalar)
            case let other?: text.append(other)
            case nil: throw Invalid()
            }
        }
        throw Invalid()
    }

    private mutating func word() throws(Invalid) -> String {
        let word = rest.prefix { !$0.properties.isWhitespace && !",])}>".unicodeScalars.contains($0) }
        rest = rest.dropFirst(word.count)
        guard !word.isEmpty else { throw Invalid() }
        return String(word)
    }

    private mutating func skipWord(_ word: String) -> Bool {
        guard starts(with: word) else { return false }
        rest.removeFirst(word.unicodeScalars.count)
        return true
    }

    private func starts(with text: String) -> Bool { rest.starts(with: text.unicodeScalars) }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard rest.first == scalar else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipSpace() { rest = rest.drop { $0.properties.isWhitespace } }
}
