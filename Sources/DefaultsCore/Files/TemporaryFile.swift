import Linux

/// The hidden name, beside a domain's file, of the new version before the exchange and of the displaced version after
/// it.
///
/// The name tells the two apart after a crash:
///
/// - A file whose content has the hash `new` was never put in place, or is the copy of a file that was being written in
///   place.
/// - A file with the hash `expected` is the version that was rightly replaced.
/// - Any other file came from a foreign writer in between, and must be kept.
///
/// The file itself shows whether a process still uses it: it is then open for writing, or locked with `flock`.
package struct TemporaryFile: Hashable, Sendable {
    /// The serial number: 0, or more if that name is in use.
    package var serial: UInt64
    /// The hash of the name of the original file.
    package var target: ContentHash
    /// The hash of the version to save.
    package var new: ContentHash
    /// The hash of the version to replace; 0 if there is none.
    package var expected: ContentHash

    private static let prefix = ".defaultsd"

    /// Creates the name of the temporary file for a replacement.
    init(for path: String, new: ContentHash, expected: ContentHash?) {
        self.serial = 0
        self.target = Self.hash(ofNameAt: path)
        self.new = new
        self.expected = expected ?? ContentHash(value: 0)
    }

    /// Parses a name; fails if it isn't the name of a temporary file.
    package init?(name: String) {
        // Most names aren't, and there may be thousands.
        guard name.utf8.starts(with: Self.prefix.utf8) else { return nil }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].isEmpty, "." + parts[1] == Self.prefix else { return nil }
        let numbers = parts[3...].compactMap { UInt64($0, radix: 16) }
        guard let serial = UInt64(parts[2]), numbers.count == 3 else { return nil }
        self.serial = serial
        (target, new, expected) = (
            ContentHash(value: numbers[0]), ContentHash(value: numbers[1]), ContentHash(value: numbers[2])
        )
    }

    /// The name, without a directory.
    package var name: String { "\(Self.prefix).\(serial).\(target).\(new).\(expected)" }

    /// Returns the hash that identifies an original file in a temporary file's name.
    static func hash(ofNameAt path: String) -> ContentHash {
        ContentHash(Array(Path.lastName(of: path).utf8))
    }
}
