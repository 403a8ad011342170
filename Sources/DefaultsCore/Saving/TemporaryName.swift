import Linux

/// The hidden name, beside a domain's file, of the new version before an exchange and of the displaced version after
/// it.
///
/// After a crash, the name tells the two apart:
///
/// - A file whose content has the hash `new` is a new version that was never exchanged, or is the complete version of a
///   file that was being written in place.
/// - A file whose content has the hash `expected` is the version that was meant to be replaced.
/// - Any other content came from a foreign writer in the meantime, and must be preserved.
///
/// The file is thus evidence of a save that an agent has announced in its log. So only an agent removes the new or the
/// expected version of such a save.
///
/// While a process still uses the file, it is open for writing or locked with `flock`.
package struct TemporaryName: Hashable, Sendable {
    /// The serial number, which is 0 unless that name is already in use.
    package var serial: UInt64
    /// The hash of the name of the original file.
    package var target: ContentHash
    /// The hash of the version to save; `nil` for the old file while it has two names or is being removed.
    package var new: ContentHash?
    /// The hash of the version to replace; `nil` if there is none.
    package var expected: ContentHash?
    /// Whether an agent announced the save.
    var isAnnounced = true

    private static let prefix = ".defaultsd"
    /// The letter before the serial number of a save that wasn't announced.
    private static let unannounced: Character = "u"

    /// Creates the name of the temporary file for a replacement.
    init(for path: String, new: ContentHash?, expected: ContentHash?, isAnnounced: Bool = true) {
        self.isAnnounced = isAnnounced
        self.serial = 0
        self.target = Self.hash(ofNameAt: path)
        self.new = new
        self.expected = expected
    }

    /// Parses a name; fails if it isn't the name of a temporary file.
    package init?(name: String) {
        // Reject other names quickly, since there may be thousands.
        guard name.utf8.starts(with: Self.prefix.utf8) else { return nil }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].isEmpty, "." + parts[1] == Self.prefix else { return nil }
        let numbers = parts[3...].compactMap { UInt64($0, radix: 16) }
        isAnnounced = parts[2].first != Self.unannounced
        guard let serial = UInt64(isAnnounced ? parts[2] : parts[2].dropFirst()), numbers.count == 3 else {
            return nil
        }
        self.serial = serial
        target = ContentHash(value: numbers[0])
        (new, expected) = (Self.hash(numbers[1]), Self.hash(numbers[2]))
    }

    /// The name, without a directory.
    package var name: String {
        let number = isAnnounced ? "\(serial)" : "\(Self.unannounced)\(serial)"
        return "\(Self.prefix).\(number).\(target).\(Self.text(new)).\(Self.text(expected))"
    }

    // In a name, 0 stands for no hash.
    private static func hash(_ number: UInt64) -> ContentHash? { number == 0 ? nil : ContentHash(value: number) }
    private static func text(_ hash: ContentHash?) -> String { (hash ?? ContentHash(value: 0)).description }

    /// Returns the hash that identifies an original file in a temporary file's name.
    static func hash(ofNameAt path: String) -> ContentHash {
        ContentHash(Array(Path.lastName(of: path).utf8))
    }
}
