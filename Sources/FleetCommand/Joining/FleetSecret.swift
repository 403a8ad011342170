#if Fleet
import Crypto
import Fleet

/// The key of a fleet, which all its machines have: without it, what is in the folder can't be read or forged.
///
/// ChaCha20-Poly1305 (RFC 8439), with a random nonce for each file.
package struct FleetSecret: FleetSeal, Sendable {
    private let key: SymmetricKey
    /// The key from which names come.
    private let nameKey: SymmetricKey
    package let number: String

    /// Creates a key from its bytes; `nil` if there aren't as many as there must be.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.init(SymmetricKey(data: bytes))
    }

    /// Creates the key of a new fleet.
    init() { self.init(SymmetricKey(size: .bits256)) }

    private init(_ key: SymmetricKey) {
        // The key that seals isn't the one from which the number comes.
        let number = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("defaults-fleet number".utf8), outputByteCount: 8)
        self.key = key
        nameKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("defaults-fleet name".utf8), outputByteCount: 32)
        self.number = Self.digits(number.bytes)
    }

    private static func digits(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }

    package func name(for text: String) -> String {
        Self.digits(Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: nameKey).prefix(16)))
    }

    var bytes: [UInt8] { key.bytes }

    package func close(_ bytes: [UInt8], for context: String) throws -> [UInt8] {
        Array(try ChaChaPoly.seal(bytes, using: key, authenticating: Array(context.utf8)).combined)
    }

    package func open(_ bytes: [UInt8], for context: String) throws -> [UInt8] {
        let box = try ChaChaPoly.SealedBox(combined: bytes)
        return Array(try ChaChaPoly.open(box, using: key, authenticating: Array(context.utf8)))
    }
}

extension SymmetricKey {
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
#endif
