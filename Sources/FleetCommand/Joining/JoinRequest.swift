#if Fleet
import Crypto
import DefaultsCore
import Fleet
import FoundationEssentials
import PropertyList

/// A machine's request for the key of a fleet, in a file in the folder.
///
/// Whoever can write to the folder can put a request there, or an answer. So the machine shows a code that isn't in the
/// folder, and a person types it on a machine of the fleet. The code proves to that machine whose request it is, and to
/// the one that asks whose answer it gets. The key is sealed by HPKE (RFC 9180) in its mode with a pre-shared key.
struct JoinRequest {
    let machine: MachineID
    let name: String
    private let publicKey: [UInt8]
    private let proof: [UInt8]

    /// Removes the answers that have been read: their requests are gone.
    static func removeAnswers(of own: MachineID, from transport: some FleetTransport) throws {
        for name in try transport.names(of: own) {
            guard let machine = FolderTransport.machine(answeredBy: name),
                try transport.contents(of: FolderTransport.requestName, of: machine) == nil
            else { continue }
            try transport.remove(name)
        }
    }

    private static let suite = HPKE.Ciphersuite.Curve25519_SHA256_ChachaPoly

    /// The secrets that the machine keeps until it is answered.
    struct Pending {
        let code: JoinCode
        fileprivate let privateKey: Curve25519.KeyAgreement.PrivateKey

        init() { (code, privateKey) = (JoinCode(), Curve25519.KeyAgreement.PrivateKey()) }

        /// Reads what was kept; `nil` if it isn't that.
        init?(_ value: PropertyListValue?) {
            guard case .dictionary(let entries)? = value, case .string(let text)? = entries["Code"],
                let code = JoinCode(text), case .data(let bytes)? = entries["PrivateKey"],
                let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
            else { return nil }
            (self.code, privateKey) = (code, key)
        }

        var propertyList: PropertyListValue {
            ["Code": .string(code.text), "PrivateKey": .data(Array(privateKey.rawRepresentation))]
        }
    }

    /// Creates the request of a machine.
    init(of machine: MachineID, named name: String, with pending: Pending) {
        (self.machine, self.name) = (machine, name)
        publicKey = Array(pending.privateKey.publicKey.rawRepresentation)
        proof = Self.proof(of: publicKey, machine: machine, name: name, code: pending.code)
    }

    /// Reads a request from its file; `nil` if it isn't one.
    init?(_ bytes: [UInt8], of machine: MachineID) {
        guard case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            case .string(let name)? = entries["Name"], case .data(let key)? = entries["PublicKey"],
            case .data(let proof)? = entries["Proof"], key.count == 32
        else { return nil }
        // It is shown, and anybody may have written it.
        (self.machine, self.name, publicKey, self.proof) = (machine, String(name.prefix(100)), key, proof)
    }

    /// The contents of the file.
    func contents() throws -> [UInt8] {
        let value: PropertyListValue = ["Name": .string(name), "PublicKey": .data(publicKey), "Proof": .data(proof)]
        return try value.write(as: .xml)
    }

    private static func proof(of key: [UInt8], machine: MachineID, name: String, code: JoinCode) -> [UInt8] {
        // Both the key and the identifier have a fixed length.
        let text = key + Array(machine.text.utf8) + Array(name.utf8)
        return Array(HMAC<SHA256>.authenticationCode(for: text, using: code.key(for: "request")))
    }

    /// Returns whether the machine shows this code.
    func isProven(by code: JoinCode) -> Bool {
        let text = publicKey + Array(machine.text.utf8) + Array(name.utf8)
        return HMAC<SHA256>.isValidAuthenticationCode(proof, authenticating: text, using: code.key(for: "request"))
    }

    private func info() -> Data { Data("defaults-fleet 1 \(machine)".utf8) }
    private static let identifier = Data("code".utf8)

    /// Returns the answer, which only the machine that asked can read.
    func answer(_ grant: FleetGrant, to code: JoinCode) throws -> [UInt8] {
        let key = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
        var sender = try HPKE.Sender(
            recipientKey: key, ciphersuite: Self.suite, info: info(), presharedKey: code.key(for: "answer"),
            presharedKeyIdentifier: Self.identifier)
        return Array(sender.encapsulatedKey) + Array(try sender.seal(Data(try grant.propertyList.write(as: .binary))))
    }

    /// Opens an answer; `nil` if it isn't one to this request, by somebody who knows the code.
    func grant(from answer: [UInt8], for pending: Pending) -> FleetGrant? {
        let (encapsulated, sealed) = (Data(answer.prefix(32)), Data(answer.dropFirst(32)))
        guard
            var recipient = try? HPKE.Recipient(
                privateKey: pending.privateKey, ciphersuite: Self.suite, info: info(), encapsulatedKey: encapsulated,
                presharedKey: pending.code.key(for: "answer"), presharedKeyIdentifier: Self.identifier),
            let bytes = try? recipient.open(sealed), let value = try? PropertyListValue(parsing: Array(bytes))
        else { return nil }
        return FleetGrant(value)
    }
}

/// The fleet's key, and the machine that gives it.
struct FleetGrant {
    let secret: FleetSecret
    /// The machine that has approved this one; `nil` for a new fleet.
    var approver: MachineID?

    init(_ secret: FleetSecret, approvedBy approver: MachineID? = nil) {
        (self.secret, self.approver) = (secret, approver)
    }

    init?(_ value: PropertyListValue) {
        guard case .dictionary(let entries) = value, case .data(let bytes)? = entries["Key"],
            let secret = FleetSecret(bytes)
        else { return nil }
        self.init(secret)
        guard let machine = entries["Machine"] else { return }
        guard case .string(let text) = machine, let machine = MachineID(text) else { return nil }
        approver = machine
    }

    var propertyList: PropertyListValue {
        var entries: DomainValues = ["Key": .data(secret.bytes)]
        entries["Machine"] = approver.map { .string($0.text) }
        return .dictionary(entries)
    }
}

/// The code that a machine shows when it wants to join: 80 random bits as 16 letters and digits.
struct JoinCode {
    /// The code in groups of four.
    let text: String
    private let letters: [UInt8]

    // Without letters that look like digits or like each other (Crockford's Base32).
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    /// Creates a random code.
    init() {
        var random = SystemRandomNumberGenerator()
        self.init((0..<16).map { _ in Self.alphabet[Int.random(in: 0..<32, using: &random)] })
    }

    /// Reads a code as somebody has typed it; `nil` if it isn't one.
    init?(_ text: String) {
        let replacements: [UInt8: UInt8] = [
            UInt8(ascii: "o"): UInt8(ascii: "0"), UInt8(ascii: "i"): UInt8(ascii: "1"),
            UInt8(ascii: "l"): UInt8(ascii: "1"),
        ]
        let letters = text.lowercased().utf8.filter { !" -".utf8.contains($0) }.map { replacements[$0] ?? $0 }
        guard letters.count == 16, letters.allSatisfy(Self.alphabet.contains) else { return nil }
        self.init(letters)
    }

    private init(_ letters: [UInt8]) {
        self.letters = letters
        text = stride(from: 0, to: 16, by: 4).map { String(decoding: letters[$0..<$0 + 4], as: UTF8.self) }
            .joined(separator: "-")
    }

    fileprivate func key(for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: letters), info: Array("defaults-fleet \(purpose)".utf8),
            outputByteCount: 32)
    }
}
#endif
