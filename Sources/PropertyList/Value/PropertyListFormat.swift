/// A file format for property lists.
public enum PropertyListFormat: Sendable, Hashable, CaseIterable {
    /// Apple's XML, version 1.0.
    case xml
    /// Apple's binary format, `bplist00`.
    case binary
    /// The OpenStep text format, `{ key = value; }`, which has only strings, data, arrays and dictionaries.
    case oldStyle

    /// Guesses a document's format from its first bytes; returns `oldStyle` if nothing suggests another format.
    public static func detect(_ bytes: UnsafeRawBufferPointer) -> PropertyListFormat {
        if bytes.starts(with: "bplist".utf8) { return .binary }
        var start = 0
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { start = 2 }
        // Skip the zero bytes of UTF-16 and UTF-32, so that one rule covers all encodings.
        let text = bytes[start...].lazy.filter { $0 != 0 }.drop { $0.isPropertyListWhitespace }
        guard text.first == UInt8(ascii: "<") else { return .oldStyle }
        let inside = text.dropFirst()
        // `<0a0b>` is old-style data and `<*I5>` an old-style number; no XML element's name is all hexadecimal digits.
        switch inside.first ?? 0 {
        case UInt8(ascii: "?"), UInt8(ascii: "!"): return .xml
        case UInt8(ascii: "*"), UInt8(ascii: "["): return .oldStyle
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return .oldStyle
        default:
            let next = inside.drop { $0.hexadecimalValue != nil || $0.isPropertyListWhitespace }.first
            return next == UInt8(ascii: ">") ? .oldStyle : .xml
        }
    }

    /// Guesses a document's format from its first bytes; returns `oldStyle` if nothing suggests another format.
    public static func detect(_ bytes: [UInt8]) -> PropertyListFormat {
        bytes.withUnsafeBytes { detect($0) }
    }
}

extension PropertyListFormat: CustomStringConvertible {
    /// The format's name, as used in errors.
    public var description: String {
        switch self {
        case .xml: "XML property list"
        case .binary: "binary property list"
        case .oldStyle: "old-style property list"
        }
    }
}
