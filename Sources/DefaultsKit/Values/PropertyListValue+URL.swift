package import PropertyList

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension PropertyListValue {
    /// Creates the value that `set(_: URL?, forKey:)` stores.
    ///
    /// A file URL becomes its absolute path, with "~" for the home directory. A directory's path ends with a slash, so
    /// that it reads back the same without checking the disk. Any other URL, and a file URL that a path can't express
    /// (one with a host, a query or an escaped slash), becomes the data of an archived `NSURL`, which Foundation's
    /// `NSKeyedUnarchiver` reads.
    ///
    /// - Parameter url: Any URL; a relative URL is stored with its base.
    /// - Throws: An error from writing the property list, which no URL is known to cause.
    package init(url: URL) throws(PropertyListError) {
        self = try Self.stored(url, home: .current)
    }

    /// Returns the URL that the value represents; `nil` if it represents none.
    ///
    /// A string is a path: "~" is expanded, and a relative path is relative to the current directory, as with
    /// Foundation. A string with "scheme://" is a URL, since no path looks like that and `defaults write` has no other
    /// way to store one. Data is an archived `NSURL`. Anything else, however malformed, gives `nil`.
    package func url() -> URL? {
        url(home: .current)
    }

    static func stored(_ url: URL, home: HomeDirectory) throws(PropertyListError) -> PropertyListValue {
        if url.isFileURL {
            var path = url.absoluteURL.path
            if url.hasDirectoryPath, path.utf8.last != UInt8(ascii: "/") { path += "/" }
            let value = PropertyListValue.string(home.abbreviate(path))
            if value.url(home: home)?.absoluteString == url.absoluteString { return value }
        }
        return .data(try KeyedURLArchive.bytes(of: url))
    }

    func url(home: HomeDirectory) -> URL? {
        switch self {
        case .string(let text):
            guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
            if text.hasScheme { return URL(string: text) }
            guard let path = home.expand(text) else { return nil }
            return URL(filePath: path, directoryHint: .inferFromPath)
        case .data(let bytes): return KeyedURLArchive.url(in: bytes)
        default: return nil
        }
    }
}

extension String {
    /// Whether the string begins with a scheme and "://" (RFC 3986, 3.1).
    fileprivate var hasScheme: Bool {
        let scheme = utf8.prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "+-.".utf8.contains(byte)
            }
        }
        guard let first = scheme.first, first | 0x20 >= UInt8(ascii: "a") else { return false }
        return utf8.dropFirst(scheme.count).starts(with: "://".utf8)
    }
}
