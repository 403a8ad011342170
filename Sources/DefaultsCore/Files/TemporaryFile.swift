package import Glibc
import Linux

/// The hidden name under which a new version waits beside a file, and under which the old one is after the exchange.
///
/// The name says enough to tell the two apart after a crash: a file whose content has the hash `new` was never
/// published, or is the copy of one that was being written in place; one with the hash `expected` is the version that was rightly replaced; anything else came from a foreign
/// writer in between, and must be kept.
package struct TemporaryFile: Hashable, Sendable {
    /// The process that made it.
    package var owner: pid_t
    /// The hash of the name of the file it is for.
    package var target: ContentHash
    /// The hash of the version to be published.
    package var new: ContentHash
    /// The hash of the version that is to be replaced, 0 when there is none.
    package var expected: ContentHash

    private static let prefix = ".defaultsd"

    /// Describes the temporary file for a replacement that this process is about to make.
    init(for path: String, new: ContentHash, expected: ContentHash?) {
        self.owner = getpid()
        self.target = Self.hash(ofNameAt: path)
        self.new = new
        self.expected = expected ?? ContentHash(value: 0)
    }

    /// Reads a name; `nil` when it isn't one of these.
    package init?(name: String) {
        // Most aren't, and there may be thousands.
        guard name.utf8.starts(with: Self.prefix.utf8) else { return nil }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].isEmpty, "." + parts[1] == Self.prefix, let owner = pid_t(parts[2]) else {
            return nil
        }
        let hashes = parts[3...].compactMap { UInt64($0, radix: 16) }.map(ContentHash.init(value:))
        guard hashes.count == 3 else { return nil }
        (self.owner, self.target, self.new, self.expected) = (owner, hashes[0], hashes[1], hashes[2])
    }

    /// The name, without a directory.
    package var name: String { "\(Self.prefix).\(owner).\(target).\(new).\(expected)" }

    /// What a file's name is known by in a temporary file's.
    static func hash(ofNameAt path: String) -> ContentHash {
        ContentHash(Array(Path.lastName(of: path).utf8))
    }
}
