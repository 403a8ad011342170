#if Fleet
import DefaultsCommand
import DefaultsCore
import Fleet
import Glibc
import Linux
import PropertyList

/// The directory from which a fleet on etcd is set up: the authority's key, the members' files and the credentials.
struct AuthorityDirectory {
    let path: String

    /// The members and the fleet's key.
    struct Configuration {
        var members: [Initialize.EtcdMember]
        var secret: FleetSecret
    }

    /// Reads the configuration; `nil` if the directory is new.
    func configuration() throws -> Configuration? {
        guard let bytes = try read("members.plist") else { return nil }
        guard case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            case .data(let key)? = entries["FleetKey"], let secret = FleetSecret(key),
            case .array(let members)? = entries["Members"]
        else { throw Failure("\(path)/members.plist is damaged.", .dataError) }
        return Configuration(
            members: try members.map { value in
                guard case .dictionary(let entries) = value, case .string(let name)? = entries["Name"],
                    case .string(let address)? = entries["Address"],
                    let endpoint = FleetCredentials.Endpoint(address)
                else { throw Failure("\(path)/members.plist is damaged.", .dataError) }
                return Initialize.EtcdMember(name: name, endpoint: endpoint)
            }, secret: secret)
    }

    /// Writes the configuration of a new fleet.
    func begin(with members: [Initialize.EtcdMember]) throws -> Configuration {
        try makeDirectory(path)
        let secret = FleetSecret()
        let value: PropertyListValue = [
            "FleetKey": .data(secret.bytes),
            "Members": .array(members.map { ["Name": .string($0.name), "Address": .string($0.endpoint.text)] }),
        ]
        try write("members.plist", value.write(as: .xml))
        return Configuration(members: members, secret: secret)
    }

    /// Writes the files that are missing, or with `renew` all except for the authority's; returns whether it wrote any.
    func write(_ configuration: Configuration, days: Int, place: String?, renew: Bool) throws -> Bool {
        var isNew = false
        let clients = try authority("authority", of: configuration, &isNew)
        // A client's certificate must not do for a member.
        let peers = try authority("peer-authority", of: configuration, &isNew)
        let certificate = try clients.files.certificate
        for member in configuration.members {
            let folder = member.name
            try makeDirectory("\(path)/\(folder)")
            if try read("\(folder)/etcd.yml") == nil {
                let text = EtcdConfiguration.text(for: member, of: configuration, in: place ?? "\(path)/\(folder)")
                try write("\(folder)/etcd.yml", Array(text.utf8))
                isNew = true
            }
            for (name, authority) in [("member", clients), ("peer", peers)] {
                guard try renew || read("\(folder)/\(name).pem") == nil else { continue }
                try write("\(folder)/\(name)-authority.pem", authority.files.certificate)
                try write("\(folder)/\(name)", authority.signMember(member.endpoint.host, days: days))
                isNew = true
            }
        }
        // For `etcdctl`, as for backups. It gives nothing away: whoever has the directory can sign certificates anyway.
        if try renew || read("root.pem") == nil || read("root-key.pem") == nil {
            try write("root", clients.signClient("root", days: days))
            isNew = true
        }
        for (file, role) in [("receivers.fleet", FleetCredentials.Role.receiver), ("operator.fleet", .operator)] {
            guard try renew || read(file) == nil else { continue }
            let signed = try clients.signClient(role.rawValue, days: days)
            try write(file, credentials(for: role, signed, of: configuration, authority: certificate).contents())
            isNew = true
        }
        return isNew
    }

    /// Reads an authority, or creates it in a new directory.
    private func authority(
        _ name: String, of configuration: Configuration, _ isNew: inout Bool
    ) throws -> any CertificateAuthority {
        let engine = try RegisterEngines.require()
        let (certificate, key) = (try read("\(name).pem"), try read("\(name)-key.pem"))
        if let certificate, let key {
            return try engine.authority(SignedCertificate(certificate: certificate, key: key))
        }
        // An interrupted run may have left a key, with which nothing was signed yet.
        let hasSigned = try configuration.members.contains { try read("\($0.name)/member.pem") != nil }
        if certificate != nil || key != nil && hasSigned {
            let missing = certificate == nil ? "\(name).pem" : "\(name)-key.pem"
            throw Failure("\(path)/\(missing) is missing. Put it back, and run this again.", .noInput)
        }
        let authority = try engine.authority(nil)
        try write(name, authority.files)
        isNew = true
        return authority
    }

    /// Returns credentials for etcd's administrator, which work even if those in the directory have expired.
    func rootCredentials(_ configuration: Configuration) throws(RegisterFailure) -> FleetCredentials {
        do {
            guard let certificate = try read("authority.pem"), let key = try read("authority-key.pem") else {
                throw Failure("\(path) doesn't have the authority's key.", .noInput)
            }
            let files = SignedCertificate(certificate: certificate, key: key)
            let signed = try RegisterEngines.require().authority(files).signClient("root", days: 1)
            return credentials(for: .operator, signed, of: configuration, authority: certificate)
        } catch { throw .refused("\((error as? Failure)?.message ?? "\(error)")") }
    }

    private func credentials(
        for role: FleetCredentials.Role, _ signed: SignedCertificate, of configuration: Configuration,
        authority: [UInt8]
    ) -> FleetCredentials {
        FleetCredentials(
            role, configuration.members.map(\.endpoint), authority: authority, certificate: signed.certificate,
            privateKey: signed.key, secret: configuration.secret)
    }

    // MARK: Files

    private func makeDirectory(_ path: String) throws {
        do throws(SystemCall.Failure) { try NewFile.makeDirectory(path) } catch {
            throw Failure("\(path) can't be made: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    private func read(_ name: String) throws -> [UInt8]? {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: "\(path)/\(name)", O_RDONLY | O_NONBLOCK)
            return try file.read(upTo: 1 << 20)
        } catch {
            if error.number == ENOENT { return nil }
            throw Failure("\(path)/\(name) can't be read: \(SystemCall.message(error.number)).", .noInput)
        }
    }

    /// Writes a certificate and its key.
    ///
    /// There is no certificate until the key is there, so that the next run after an interruption finds none and writes
    /// both.
    private func write(_ name: String, _ files: SignedCertificate) throws {
        if unlink("\(path)/\(name).pem") != 0, errno != ENOENT {
            throw Failure("\(path)/\(name).pem can't be replaced: \(SystemCall.message(errno)).", .cantCreate)
        }
        try write("\(name)-key.pem", files.key)
        try write("\(name).pem", files.certificate)
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        do throws(SystemCall.Failure) {
            try NewFile.replace("\(path)/\(name)", with: bytes)
            try FileDescriptor.synchronizeDirectory(of: "\(path)/\(name)")
        } catch { throw Failure("\(path)/\(name) can't be written: \(SystemCall.message(error.number)).", .cantCreate) }
    }
}

/// The configuration of an etcd member.
enum EtcdConfiguration {
    static func text(
        for member: Initialize.EtcdMember, of configuration: AuthorityDirectory.Configuration, in place: String
    ) -> String {
        let isAddress = member.endpoint.address != nil
        // etcd listens at addresses, not at names.
        func listening(_ url: String) -> String {
            isAddress ? url : url.replacing(member.endpoint.host, with: "0.0.0.0", maxReplacements: 1)
        }
        let cluster = configuration.members.map { "\($0.name)=\($0.peerURL)" }.joined(separator: ",")
        func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
        func security(_ name: String, _ files: String) -> String {
            """
            \(name):
              cert-file: \(quoted("\(place)/\(files).pem"))
              key-file: \(quoted("\(place)/\(files)-key.pem"))
              trusted-ca-file: \(quoted("\(place)/\(files)-authority.pem"))
              client-cert-auth: true
            """
        }
        return """
            # Written by `defaults fleet init etcd`.
            name: \(member.name)
            data-dir: \(quoted("\(place)/data"))
            listen-client-urls: \(listening(member.clientURL))
            advertise-client-urls: \(member.clientURL)
            listen-peer-urls: \(listening(member.peerURL))
            initial-advertise-peer-urls: \(member.peerURL)
            initial-cluster: \(cluster)
            initial-cluster-token: \(configuration.secret.number)
            initial-cluster-state: new
            \(security("client-transport-security", "member"))
            \(security("peer-transport-security", "peer"))
            # Receivers that were away for longer read everything again.
            auto-compaction-mode: periodic
            auto-compaction-retention: "24h"
            quota-backend-bytes: 2147483648
            # Pages of any website can use the gateway.
            enable-grpc-gateway: false

            """
    }
}
#endif
