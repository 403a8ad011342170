import ArgumentParser

/// A file path, which may be any bytes; those that aren't UTF-8 are shown as escapes, such as `\xff`.
struct FilePath: Hashable, ExpressibleByArgument, ExpressibleByStringLiteral, CustomStringConvertible {
    private static let separator = UInt8(ascii: "/")

    /// The bytes, without a NUL at the end.
    let bytes: [UInt8]

    init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Creates a path from text.
    init(_ text: String) { self.init(bytes: text.utf8) }

    init(stringLiteral text: String) { self.init(text) }

    /// Creates a path from an argument, or from the placeholder of one that isn't UTF-8.
    init(argument: String) { self.init(bytes: ByteArgument.bytes(of: argument)) }

    /// The path as a NUL-terminated string for system calls.
    var cString: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

    /// Whether the path stands for standard input or output.
    var isStandard: Bool { bytes == [UInt8(ascii: "-")] }

    /// Whether the path begins at the root.
    var isAbsolute: Bool { bytes.first == Self.separator }

    /// The path up to its last name, including the slash; empty for a bare name.
    var prefix: ArraySlice<UInt8> { bytes[..<((bytes.lastIndex(of: Self.separator) ?? -1) + 1)] }

    /// The last name; empty after a trailing slash.
    var name: ArraySlice<UInt8> { bytes[prefix.endIndex...] }

    /// The directory that contains the last name.
    var directory: FilePath {
        switch prefix.count {
        case 0: "."
        case 1: "/"
        default: FilePath(bytes: prefix.dropLast())
        }
    }

    /// Returns whether the path ends with a suffix.
    func hasSuffix(_ suffix: String) -> Bool { bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) }

    var description: String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        var rest = bytes[...]
        while let byte = rest.first {
            let scalar = (1...4).lazy.compactMap { String(validating: rest.prefix($0), as: UTF8.self) }.first
            text += scalar ?? "\\x\(String(byte, radix: 16))"
            rest = rest.dropFirst(scalar?.utf8.count ?? 1)
        }
        return text
    }
}
