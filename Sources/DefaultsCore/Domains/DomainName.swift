import Glibc
import Linux

/// A domain's name: 1 to 200 bytes of UTF-8 that can stand in a file's name.
///
/// ```swift
/// let name = try DomainName("org.example.editor")
/// ```
package struct DomainName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as people write it; "NSGlobalDomain" for the global domain.
    package let description: String
    /// The hash of the name's bytes, which every table of domains asks for.
    ///
    /// Made once, since an edit looks its domain up some twenty times.
    private let bytesHash: Int

    /// The length of the longest name, in bytes.
    static let maximumLength = 200

    /// The domain that every app reads, in `.GlobalPreferences.plist`.
    package static let global = DomainName(unchecked: "NSGlobalDomain")

    /// Takes a name that is known to break no rule.
    init(unchecked name: String) {
        description = name
        var hasher = Hasher()
        name.utf8Span.span.withUnsafeBytes { hasher.combine(bytes: $0) }
        bytesHash = hasher.finalize()
    }

    /// Checks a name.
    ///
    /// The error says which rule it breaks.
    package init(_ name: String) throws(DefaultsError) {
        if let rule = Self.ruleBroken(by: name) {
            throw DefaultsError(.invalidDomainName, "\(Self.quoted(name)) can't be a domain's name: \(rule).")
        }
        self.init(unchecked: name)
    }

    /// Whether this is the global domain.
    package var isGlobal: Bool { self == .global }

    /// Whether both are the same bytes: to the file system, and so here, "é" in one scalar and in two are two names.
    package static func == (first: DomainName, second: DomainName) -> Bool {
        first.bytesHash == second.bytesHash && order(first, second) == 0
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytesHash) }

    package static func < (first: DomainName, second: DomainName) -> Bool {
        order(first, second) < 0
    }

    /// Negative when the first name's bytes come first, zero when both are the same.
    ///
    /// Thousands are put in order while someone waits, and the library's own way goes byte by byte.
    static func order(_ first: DomainName, _ second: DomainName) -> Int {
        // Spans, unlike `withUTF8`, need no copies of the strings, and so count no references.
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
        if Path.hasSeparator(name) { return "a name has no \"/\"" }
        if name.utf8.contains(0) { return "a name has no NUL" }
        if name.utf8.first == UInt8(ascii: ".") { return "a name doesn't begin with \".\"" }
        return nil
    }

    /// The name between quotes, cut and with control characters shown, so that it can stand in a message.
    private static func quoted(_ name: String) -> String {
        let shown = name.unicodeScalars.prefix(60).map { $0.value < 0x20 ? "\u{FFFD}" : String($0) }.joined()
        return "\"\(shown)\(name.unicodeScalars.count > 60 ? "…" : "")\""
    }
}
