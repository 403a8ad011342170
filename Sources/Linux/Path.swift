import Glibc

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

    /// Returns whether a path leads to a regular file that this user may execute.
    package static func isProgram(_ path: String) -> Bool {
        (try? FileStatus(at: path))?.isRegular == true && access(path, X_OK) == 0
    }

    /// Returns the path with links resolved; the same path if it leads nowhere.
    package static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Returns whether a path certainly leads nowhere: it doesn't count as missing if that can't be told.
    package static func isMissing(_ path: String) -> Bool { access(path, F_OK) != 0 && errno == ENOENT }

    // MARK: Numbered files

    /// Returns the first unused path that consists of a prefix and a number from 1 on.
    package static func unused(_ prefix: String) -> String {
        var number = 1
        while (try? FileStatus(at: "\(prefix)\(number)", followsLinks: false)) != nil { number += 1 }
        return "\(prefix)\(number)"
    }

    /// Returns the existing paths that consist of a prefix and a number.
    package static func numbered(_ prefix: String) -> [String] {
        let (directory, prefix) = (directory(of: prefix), lastName(of: prefix).utf8)
        guard let listing = try? DirectoryListing(directory) else { return [] }
        var paths: [String] = []
        while let entry = try? listing.next() {
            guard let name = entry.name, name.utf8.starts(with: prefix) else { continue }
            let number = name.utf8.dropFirst(prefix.count)
            if !number.isEmpty, number.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                paths.append("\(directory)/\(name)")
            }
        }
        return paths
    }
}
