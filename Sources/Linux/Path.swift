/// Operations on paths that compare bytes.
///
/// Swift treats a "/" followed by a combining mark as one character, so a search by character misses the separator
/// before a name that begins with such a mark. To the kernel, every byte 0x2F is a separator.
package enum Path {
    private static let separator = UInt8(ascii: "/")

    /// Returns the path of the directory that contains a path's last name: "." for a bare name, "/" for a name in the
    /// root.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: separator) else { return "." }
        return slash == path.startIndex ? "/" : String(Substring(path.utf8[..<slash]))
    }

    /// Returns the last name of a path, without trailing slashes; empty for the root.
    package static func lastName(of path: String) -> String {
        let trimmed = withoutTrailingSlashes(path)
        guard let slash = trimmed.utf8.lastIndex(of: separator) else { return trimmed }
        return String(Substring(trimmed.utf8[trimmed.utf8.index(after: slash)...]))
    }

    /// Returns a path without trailing slashes; the root stays "/".
    package static func withoutTrailingSlashes(_ path: String) -> String {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == separator { bytes = bytes.dropLast() }
        return String(Substring(bytes))
    }

    /// Returns whether a path begins at the root.
    package static func isAbsolute(_ path: String) -> Bool { path.utf8.first == separator }

    /// Returns whether a text contains a separator, and so isn't a bare name.
    package static func hasSeparator(_ text: String) -> Bool { text.utf8.contains(separator) }

    /// Returns the names that make up a path, without empty ones.
    package static func names(of path: String) -> [String] {
        path.utf8.split(separator: separator).map { String(Substring($0)) }
    }
}
