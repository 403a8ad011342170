#if Fleet
import DefaultsCommand
package import Fleet
import Linux

/// An engine that keeps registers for services, such as etcd.
package protocol RegisterEngine: Sendable {
    /// Returns a client that connects when it is used, and goes to another member after a failure.
    func client(with credentials: FleetCredentials) -> any RegisterService

    /// Limits the access to the engine to a fleet's certificates, as its administrator.
    ///
    /// - Parameter administrator: The administrator's credentials.
    /// - Throws: If the engine can't be reached, or refuses.
    func limitAccess(as administrator: FleetCredentials) throws(RegisterFailure)

    /// Creates an authority for certificates, or reads it from its files.
    func authority(_ files: SignedCertificate?) throws -> any CertificateAuthority
}

/// A certificate with its private key, both as text (PEM).
package struct SignedCertificate: Sendable {
    package var certificate: [UInt8]
    package var key: [UInt8]

    package init(certificate: [UInt8], key: [UInt8]) { (self.certificate, self.key) = (certificate, key) }
}

/// An authority that signs the certificates of a fleet's members, machines and operators.
package protocol CertificateAuthority {
    /// The authority's own certificate and key.
    var files: SignedCertificate { get throws }

    /// Signs a certificate for a member of the engine, by which it serves and talks to the others.
    func signMember(_ host: String, days: Int) throws -> SignedCertificate

    /// Signs a certificate for a client, whose name in the engine it bears.
    func signClient(_ name: String, days: Int) throws -> SignedCertificate
}

/// The engine that the program was built with.
enum RegisterEngines {
    private static let engine = ForkSafeMutex<(any RegisterEngine)?>(nil)

    static var current: (any RegisterEngine)? {
        get { engine.withLock { $0 } }
        set { engine.withLock { $0 = newValue } }
    }

    /// The engine; there is one wherever a verb for services runs.
    static func require() throws(Failure) -> any RegisterEngine {
        guard let engine = current else { throw Failure("This program was built without etcd.", .unavailable) }
        return engine
    }
}
#endif
