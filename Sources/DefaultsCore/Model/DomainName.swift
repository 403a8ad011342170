import Glibc
import Linux

/// A domain's name: 1 to 200 bytes of UTF-8 that can be part of a file name.
///
/// ```swift
/// let name = try DomainName("org.example.editor")
/// ```
package struct DomainName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as users write it; "NSGlobalDomain" for the global domain.
    package let description: String
    /// The hash of the name's bytes, computed once.
    ///
    /// An edit looks up its domain about twenty times, in several tables.
    private let bytesHash: Int

    /// The maximum length of a name, in bytes.
    static let maximumLength = 200

    /// The global domain, which every app reads; its file is `.GlobalPreferences.plist`.
    package static let global = DomainName(unchecked: "NSGlobalDomain")

    /// The other names of the global domain: the heading in the output of Apple's `defaults`, which Apple's library
    /// accepts as well; CFPreferences' name; and the name of the file.
    private static let globalSpellings = ["Apple Global Domain", "kCFPreferencesAnyApplication", ".GlobalPreferences"]

    /// Creates a name from text that is known to be valid.
    init(unchecked name: String) {
        description = name
        var hasher = Hasher()
        name.utf8Span.span.withUnsafeBytes { hasher.combine(bytes: $0) }
        bytesHash = hasher.finalize()
    }

    /// Creates a name from text, after validation.
    ///
    /// All names of the global domain give the same one. The error states the rule that the text breaks.
    package init(_ name: String) throws(DefaultsError) {
        if Self.globalSpellings.contains(name) {
            self = .global
            return
        }
        if let rule = Self.ruleBroken(by: name) {
            throw DefaultsError(.invalidDomainName, "\(Self.quoted(name)) isn't a valid domain name: \(rule).")
        }
        self.init(unchecked: name)
    }

    /// Whether this is the global domain.
    package var isGlobal: Bool { self == .global }

    /// Returns whether two names have the same bytes.
    ///
    /// As in the file system, "é" as one scalar and "é" as two scalars are different.
    package static func == (first: DomainName, second: DomainName) -> Bool {
        first.bytesHash == second.bytesHash && order(first, second) == 0
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytesHash) }

    package static func < (first: DomainName, second: DomainName) -> Bool {
        order(first, second) < 0
    }

    /// Compares the bytes of two names; the result is negative if the first name sorts first, zero if they are equal,
    /// and positive otherwise.
    ///
    /// Clients wait while thousands of names are sorted, and the standard library compares byte by byte.
    static func order(_ first: DomainName, _ second: DomainName) -> Int {
        // Unlike `withUTF8`, spans need no copies of the strings, and therefore no reference counting.
        first.description.utf8Span.span.withUnsafeBufferPointer { first in
            second.description.utf8Span.span.withUnsafeBufferPointer { second in
                // A name has at least one byte.
                guard let start = first.baseAddress, let other = second.baseAddress else { return 0 }
                let order = memcmp(start, other, min(first.count, second.count))
                return order == 0 ? first.count - second.count : Int(order)
            }
        }
    }

    private static func ruleBroken(by name: String) -> String? {
        if name.isEmpty { return "a name has at least one character" }
        if name.utf8.count > maximumLength {
            return "a name has at most \(maximumLength) bytes, this one has \(name.utf8.count)"
        }
        if Path.hasSeparator(name) { return "a name can't contain \"/\"" }
        if name.utf8.contains(0) { return "a name can't contain NUL" }
        if name.utf8.first == UInt8(ascii: ".") { return "a name can't begin with \".\"" }
        return nil
    }

    /// Returns the name in quotes for a message, truncated and with control characters replaced.
    private static func quoted(_ name: String) -> String {
        let shown = name.unicodeScalars.prefix(60).map { $0.value < 0x20 ? "\u{FFFD}" : String($0) }.joined()
        return "\"\(shown)\(name.unicodeScalars.count > 60 ? "…" : "")\""
    }
}
