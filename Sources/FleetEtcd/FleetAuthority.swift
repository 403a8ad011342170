#if FleetEtcd
import Crypto
import FleetCommand
import FoundationEssentials
import SwiftASN1
import X509

/// The authority that signs the certificates of a fleet's etcd members, machines and operators.
struct FleetAuthority: CertificateAuthority {
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    private static let day: TimeInterval = 86_400

    /// Creates a new authority, for ten years.
    init() throws {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let name = try DistinguishedName { CommonName("Fleet authority") }
        certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey,
            notValidBefore: Date() - Self.day, notValidAfter: Date() + 3_650 * Self.day, issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            }, issuerPrivateKey: key)
        self.key = key
    }

    /// Reads an authority from its files.
    init(_ files: SignedCertificate) throws {
        certificate = try Certificate(pemEncoded: String(decoding: files.certificate, as: UTF8.self))
        key = try Certificate.PrivateKey(pemEncoded: String(decoding: files.key, as: UTF8.self))
    }

    var files: SignedCertificate { get throws { try Self.texts(certificate, key) } }

    private static func texts(_ certificate: Certificate, _ key: Certificate.PrivateKey) throws -> SignedCertificate {
        SignedCertificate(
            certificate: Array(try certificate.serializeAsPEM().pemString.utf8) + [10],
            key: Array(try key.serializeAsPEM().pemString.utf8) + [10])
    }

    /// Signs a certificate for an etcd member, by which it serves and talks to the others.
    func signMember(_ host: String, days: Int) throws -> SignedCertificate {
        var names: [GeneralName] = [.dnsName(FleetCredentials.serverName), .dnsName("localhost")]
        for address in [host, "127.0.0.1"] {
            names.append(
                FleetCredentials.Endpoint.address(address).map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
                    ?? .dnsName(address))
        }
        return try sign("etcd \(host)", days: days, usages: [.serverAuth, .clientAuth], names)
    }

    /// Signs a certificate for a client, whose name in etcd it bears.
    func signClient(_ name: String, days: Int) throws -> SignedCertificate {
        try sign(name, days: days, usages: [.clientAuth], [])
    }

    /// Returns the day on which a certificate has expired, such as `2026-11-28`; `nil` if it hasn't.
    static func expiry(of certificate: [UInt8]) -> String? {
        let text = String(decoding: certificate, as: UTF8.self)
        guard let end = (try? Certificate(pemEncoded: text))?.notValidAfter, end < Date() else { return nil }
        return end.formatted(.iso8601.year().month().day())
    }

    private func sign(
        _ name: String, days: Int, usages: [ExtendedKeyUsage.Usage], _ names: [GeneralName]
    ) throws -> SignedCertificate {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let signed = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey,
            // Clocks may differ somewhat.
            notValidBefore: Date() - Self.day, notValidAfter: Date() + Double(days) * Self.day,
            issuer: certificate.subject, subject: try DistinguishedName { CommonName(name) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage(usages)
                if !names.isEmpty { SubjectAlternativeNames(names) }
            }, issuerPrivateKey: self.key)
        return try Self.texts(signed, key)
    }
}
#endif
