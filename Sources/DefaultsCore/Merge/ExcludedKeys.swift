/// Keys whose names and values a log must not hold, by their salted hashes.
package struct ExcludedKeys: Hashable, Sendable {
    let salt: UInt64
    let hashes: Set<UInt64>

    init(_ keys: [String], salt: UInt64) {
        self.salt = salt
        hashes = Set(keys.map { Self.hash(of: $0, salt: salt) })
    }

    func contains(_ key: String) -> Bool { hashes.contains(Self.hash(of: key, salt: salt)) }

    /// Returns the hash of a key, which is the same for all of its Unicode spellings.
    ///
    /// Characters outside ASCII count as equal, which only makes some further keys count as excluded.
    static func hash(of key: String, salt: UInt64) -> UInt64 {
        let text = key.utf8.allSatisfy { $0 < 0x80 } ? key : String(key.map { $0.isASCII ? $0 : "\u{FFFD}" })
        return ContentHash(withUnsafeBytes(of: salt.bigEndian, Array.init) + Array(text.utf8)).value
    }
}

extension [ExcludedKeys] {
    /// Returns whether a key is among the excluded ones.
    func contain(_ key: String) -> Bool { contains { $0.contains(key) } }
}
