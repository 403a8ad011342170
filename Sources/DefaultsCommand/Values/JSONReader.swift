import DefaultsCore
package import PropertyList

/// A reader for the JSON that `read --json` writes, and for any other JSON that a property list can hold.
///
/// Numbers without a fraction or an exponent are integers, if 64 bits can hold them; others are reals. An object whose
/// only key is `$data`, `$date`, `$uid`, `$real` or `$integer` represents a value that JSON or its readers have no type
/// for; see `JSONText`. A property list has no null.
package struct JSONReader {
    private let bytes: [UInt8]
    private let limits: PropertyListLimits
    private var index = 0
    /// Whether what a property list can't hold is read as something else.
    private var skipsImpossible = false

    /// An error in the text, and its offset.
    struct Problem: Error {
        let message: String
        let offset: Int
    }

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - bytes: The document, in UTF-8, with or without a byte order mark.
    ///   - limits: The limits on size and depth.
    ///   - firstLine: The number of the document's first line, if it is a part of a text.
    /// - Returns: The value.
    /// - Throws: A message with the line and column of the error.
    package static func read(
        _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits(), firstLine: Int = 1
    ) throws(Failure) -> PropertyListValue {
        var reader = JSONReader(bytes: bytes, limits: limits)
        do throws(Problem) {
            return try reader.document()
        } catch {
            let before = bytes[..<min(error.offset, bytes.count)]
            let line = before.count { $0 == 0x0A } + firstLine
            let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
            throw Failure(
                "JSON, line \(line), column \(column) (byte \(error.offset)): \(error.message).", .dataError)
        }
    }

    /// Returns the value of a key of an object in which a property list can't hold other values; `nil` if it has none.
    static func value(of key: String, inObject bytes: [UInt8], limits: PropertyListLimits) -> PropertyListValue? {
        var reader = JSONReader(bytes: bytes, limits: limits)
        reader.skipsImpossible = true
        guard case .dictionary(let entries)? = try? reader.document() else { return nil }
        return entries[key]
    }

    /// Returns whether text that isn't a property list is likely to be JSON: an array, or an object whose first key is
    /// followed by a colon.
    static func isLikely(_ bytes: [UInt8]) -> Bool {
        var reader = JSONReader(bytes: bytes, limits: PropertyListLimits())
        reader.skipMark()
        switch reader.next() {
        case UInt8(ascii: "["): return true
        case UInt8(ascii: "{"):
            reader.index += 1
            guard reader.next() == UInt8(ascii: "\""), (try? reader.string()) != nil else { return false }
            return reader.next() == UInt8(ascii: ":")
        default: return false
        }
    }

    private init(bytes: [UInt8], limits: PropertyListLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    private mutating func document() throws(Problem) -> PropertyListValue {
        guard bytes.count <= limits.bytes else {
            throw problem("the document has \(bytes.count) bytes; the limit is \(limits.bytes)")
        }
        skipMark()
        let value = try self.value(depth: 0)
        if next() != nil { throw problem("expected the end of the text") }
        return value
    }

    private mutating func skipMark() {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    private func problem(_ message: String, at offset: Int? = nil) -> Problem {
        Problem(message: message, offset: offset ?? index)
    }

    /// Skips whitespace and returns the byte at the index; `nil` at the end.
    private mutating func next() -> UInt8? {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        return index < bytes.count ? bytes[index] : nil
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard next() == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(Problem) {
        guard consume(character) else { throw problem("expected \(character)") }
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Problem) -> PropertyListValue {
        switch next() {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case nil: throw problem("expected a value, found the end of the text")
        default: break
        }
        let start = index
        while index < bytes.count, Self.isOfWord(bytes[index]) { index += 1 }
        let word = String(decoding: bytes[start..<index], as: UTF8.self)
        switch word {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "null" where skipsImpossible: return .boolean(false)
        case "null": throw problem("a property list can't hold null; leave the key out", at: start)
        default: return try number(word, at: start)
        }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private func number(_ word: String, at start: Int) throws(Problem) -> PropertyListValue {
        let digits = word.first == "-" ? word.dropFirst() : word[...]
        guard let first = digits.first, first.isASCII, first.isNumber, digits.last?.isNumber ?? false,
            digits.count == 1 || first != "0" || !(digits.dropFirst().first?.isNumber ?? false)
        else { throw problem("expected a value", at: start) }
        if digits.allSatisfy(\.isNumber) {
            if let integer = Int64(word) { return .integer(integer) }
            if let integer = UInt64(word) { return .unsigned(integer) }
            // Programs that hold numbers as doubles write 1e20 with all its zeros, after up to 17 other digits.
            if digits.reversed().drop(while: { $0 == "0" }).count <= 17, let real = Double(word), real.isFinite {
                return .real(real)
            }
            return try tooLarge(word, at: start)
        }
        guard let real = Double(word), digits.allSatisfy({ $0.isNumber || "eE.+-".contains($0) }) else {
            throw problem("expected a value", at: start)
        }
        return real.isFinite ? .real(real) : try tooLarge(word, at: start)
    }

    private func tooLarge(_ number: String, at start: Int) throws(Problem) -> PropertyListValue {
        guard skipsImpossible else { throw problem("the number \(number) doesn't fit in 64 bits", at: start) }
        return .boolean(false)
    }

    private mutating func array(depth: Int) throws(Problem) -> PropertyListValue {
        try checkDepth(depth)
        index += 1
        var elements: [PropertyListValue] = []
        if consume("]") { return .array(elements) }
        repeat { elements.append(try value(depth: depth)) } while consume(",")
        try expect("]")
        return .array(elements)
    }

    private mutating func object(depth: Int) throws(Problem) -> PropertyListValue {
        try checkDepth(depth)
        let start = index
        index += 1
        var entries: DomainValues = [:]
        if consume("}") { return .dictionary(entries) }
        repeat {
            guard next() == UInt8(ascii: "\"") else { throw problem("expected a quoted key") }
            let location = index
            let key = try string()
            try expect(":")
            guard entries.updateValue(try value(depth: depth), forKey: key) == nil else {
                throw problem("an object has the key \(JSONText.string(key)) twice", at: location)
            }
        } while consume(",")
        try expect("}")
        if skipsImpossible { return .dictionary(entries) }
        return try Self.wrapped(entries) { problem("\($0)", at: start) } ?? .dictionary(entries)
    }

    private func checkDepth(_ depth: Int) throws(Problem) {
        if depth > limits.depth { throw problem("more than \(limits.depth) arrays and objects are nested") }
    }

    /// Reads a date outside the years 0 to 9999, as `PropertyListDate.description` has it.
    private static func distantDate(_ text: String) -> PropertyListDate? {
        guard text.hasPrefix("2001-01-01T00:00:00Z + "), text.hasSuffix(" s"),
            let seconds = Double(text.dropFirst(23).dropLast(2))
        else { return nil }
        return PropertyListDate(secondsSinceReferenceDate: seconds)
    }

    /// Returns the value that an object with a single "$" key represents; `nil` for any other object.
    private static func wrapped(
        _ entries: DomainValues, _ problem: (String) -> Problem
    ) throws(Problem) -> PropertyListValue? {
        guard entries.count == 1, let (key, value) = entries.first else { return nil }
        switch (key, value) {
        case ("$data", .string(let text)):
            var copy = text
            guard let bytes = copy.withUTF8({ Base64.decode($0) }) else { throw problem("$data is not base64") }
            return .data(bytes)
        case ("$date", .string(let text)):
            guard let date = TypedDate.read(text) ?? distantDate(text) else { throw problem("$date is not a date") }
            return .date(date)
        case ("$uid", .unsigned(let number)): return .uid(number)
        case ("$uid", .integer(let number)):
            guard let uid = UInt64(exactly: number) else { throw problem("$uid is negative") }
            return .uid(uid)
        case ("$real", .string(let text)):
            guard ["nan", "inf", "-inf"].contains(text) || text.allSatisfy({ $0.isNumber || "eE.+-".contains($0) }),
                let real = Double(text)
            else { throw problem("$real must be a number, nan, inf or -inf") }
            return .real(real)
        case ("$integer", .string(let text)):
            if let number = Int64(text) { return .integer(number) }
            guard let number = UInt64(text) else { throw problem("$integer must be an integer of 64 bits") }
            return .unsigned(number)
        case _ where key.hasPrefix("$$") && JSONText.isReserved(key): return [String(key.dropFirst()): value]
        default: return nil
        }
    }

    // MARK: Strings

    /// Reads the string whose opening quote is at the index.
    private mutating func string() throws(Problem) -> String {
        let start = index
        index += 1
        var text: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw problem("the string is not UTF-8", at: start)
                }
                return string
            case UInt8(ascii: "\\"): text.append(contentsOf: String(try escape()).utf8)
            case 0..<0x20:
                throw problem("a string contains a control character; write it as an escape", at: index - 1)
            default: text.append(byte)
            }
        }
        throw problem("the string is not terminated", at: start)
    }

    private mutating func escape() throws(Problem) -> Unicode.Scalar {
        guard index < bytes.count else { throw problem("the string is not terminated") }
        let byte = bytes[index]
        index += 1
        switch Unicode.Scalar(byte) {
        case "\"", "\\", "/": return Unicode.Scalar(byte)
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u": return try unicodeEscape()
        default: throw problem("invalid escape sequence", at: index - 2)
        }
    }

    /// Reads the digits of a `\u` escape, and the second escape if the first is half of a surrogate pair.
    private mutating func unicodeEscape() throws(Problem) -> Unicode.Scalar {
        let start = index - 2
        let first = try unit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            throw problem("a surrogate has no partner", at: start)
        }
        index += 2
        let second = try unit()
        guard UTF16.isTrailSurrogate(second) else { throw problem("a surrogate has no partner", at: start) }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    private mutating func unit() throws(Problem) -> UInt16 {
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw problem("\\u needs four hexadecimal digits", at: index - 2) }
        index += 4
        return unit
    }
}
