/// Operations on paths that look at bytes.
///
/// To Swift a "/" and a combining mark behind it are one character, so a search by characters misses the separator before a
/// name that begins with such a mark. To the kernel every byte 0x2F separates.
package enum Path {
    private static let separator = UInt8(ascii: "/")

    /// The directory that holds a path's last name: "." for a bare name, "/" for a name in the root.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return "." }
        return slash == path.startIndex ? "/" : String(Substring(path.utf8[..<slash]))
    }

    /// The last name of a path, without slashes behind it; empty for the root.
    package static func lastName(of path: String) -> String {
        let trimmed = withoutTrailingSlashes(path)
        guard let slash = trimmed.utf8.lastIndex(of: separator) else { return trimmed }
        return String(Substring(trimmed.utf8[trimmed.utf8.index(after: slash)...]))
    }

    /// A path without the slashes at its end; the root stays "/".
    package static func withoutTrailingSlashes(_ path: String) -> String {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == separator { bytes = bytes.dropLast() }
        return String(Substring(bytes))
    }

    /// Whether a path begins at the root.
    package static func isAbsolute(_ path: String) -> Bool { path.utf8.first == separator }

    /// Whether a text has a separator, and so is no bare name.
    package static func hasSeparator(_ text: String) -> Bool { text.utf8.contains(separator) }

    /// The names of a path, without empty ones.
    package static func names(of path: String) -> [String] {
        path.utf8.split(separator: separator).map { String(Substring($0)) }
    }
}
