#if Fleet
import DefaultsCommand
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// The file that lets a machine or an operator use a fleet on etcd: the members' addresses, a certificate with its key,
/// and the fleet's key.
package struct FleetCredentials: Sendable {
    /// The address of a member.
    package struct Endpoint: Hashable, Sendable {
        package var host: String
        package var port: Int

        /// Reads an address such as `10.0.0.1:2379`, or `[::1]:2379`; `nil` if it isn't one.
        init?(_ text: String, defaultPort: Int = 2_379) {
            var host = Substring(text)
            var port: Substring?
            if host.hasPrefix("[") {
                guard let end = host.firstIndex(of: "]") else { return nil }
                let rest = host[host.index(after: end)...]
                host = host[host.index(after: host.startIndex)..<end]
                if !rest.isEmpty {
                    guard rest.hasPrefix(":") else { return nil }
                    port = rest.dropFirst()
                }
            } else if let colon = host.lastIndex(of: ":") {
                port = host[host.index(after: colon)...]
                host = host[..<colon]
                if host.contains(":") { return nil }
            }
            guard !host.isEmpty else { return nil }
            self.host = String(host)
            if let port {
                guard let number = Int(port), (1...65_535).contains(number) else { return nil }
                self.port = number
            } else {
                self.port = defaultPort
            }
        }

        /// The bytes of the host's IP address; `nil` if it is a name.
        package var address: [UInt8]? { Self.address(host) }

        /// Returns the bytes of an IP address; `nil` for the name of a host.
        package static func address(_ text: String) -> [UInt8]? {
            var four = in_addr()
            if inet_pton(AF_INET, text, &four) == 1 { return withUnsafeBytes(of: &four) { Array($0) } }
            var six = in6_addr()
            if inet_pton(AF_INET6, text, &six) == 1 { return withUnsafeBytes(of: &six) { Array($0) } }
            return nil
        }

        var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// The purpose of the certificate.
    package enum Role: String, Sendable {
        case receiver
        case `operator`

        /// The holder, in a sentence.
        fileprivate var holder: String {
            switch self {
            case .receiver: "a service's machine"
            case .operator: "an operator"
            }
        }
    }

    package var role: Role
    package var endpoints: [Endpoint]
    /// The certificate of the authority that has signed all others.
    package var authority: [UInt8]
    package var certificate: [UInt8]
    package var privateKey: [UInt8]
    package var secret: FleetSecret

    /// The name in the certificates of all members, whatever their addresses are.
    package static let serverName = "etcd.defaultsd"

    static let variable = "DEFAULTS_FLEET_CREDENTIALS"

    init(
        _ role: Role, _ endpoints: [Endpoint], authority: [UInt8], certificate: [UInt8], privateKey: [UInt8],
        secret: FleetSecret
    ) {
        (self.role, self.endpoints, self.authority) = (role, endpoints, authority)
        (self.certificate, self.privateKey, self.secret) = (certificate, privateKey, secret)
    }

    /// Reads the file that an option or else the environment names.
    init(option: String?, as role: Role) throws {
        guard let path = option ?? Environment.current[Self.variable] else {
            throw Failure(
                "Name the fleet's credentials with --credentials or in \(Self.variable). `defaults fleet init etcd` "
                    + "makes them.", .usage)
        }
        try self.init(path: Environment.current.expandingTilde(path), as: role)
    }

    init(path: String, as role: Role) throws {
        try self.init(path: path)
        guard self.role == role else {
            throw Failure(
                "\(path) has the credentials of \(self.role.holder). Use those of \(role.holder).", .usage)
        }
    }

    private init(path: String) throws {
        let bytes: [UInt8]
        let status: FileStatus
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
            status = try file.status()
            bytes = status.isRegular ? try file.read(upTo: 1 << 20) : []
        } catch { throw Failure("\(path) can't be read: \(SystemCall.message(error.number)).", .noInput) }
        func text(_ value: PropertyListValue?) -> [UInt8]? {
            guard case .string(let text)? = value else { return nil }
            return Array(text.utf8)
        }
        guard case .dictionary(let entries)? = try? PropertyListValue(parsing: bytes),
            case .string(let role)? = entries["Role"], let role = Role(rawValue: role),
            case .array(let endpoints)? = entries["Members"], let authority = text(entries["Authority"]),
            let certificate = text(entries["Certificate"]), let privateKey = text(entries["PrivateKey"]),
            case .data(let key)? = entries["FleetKey"], let secret = FleetSecret(key)
        else {
            throw Failure(
                "\(path) isn't a credentials file. `defaults fleet init etcd` makes one for machines and one for "
                    + "operators.", .dataError)
        }
        if status.isOpenToOthers {
            throw Failure(
                "\(path) has the fleet's key, so nobody but you may read it. Run `chmod 600 \(path.quotedForShell)`.",
                .dataError)
        }
        let addresses = try endpoints.map { value in
            guard case .string(let text) = value, let endpoint = Endpoint(text) else {
                throw Failure("\(path) has a member's address that isn't one.", .dataError)
            }
            return endpoint
        }
        self.init(
            role, addresses, authority: authority, certificate: certificate, privateKey: privateKey, secret: secret)
    }

    /// Returns the contents of the file.
    func contents() throws -> [UInt8] {
        func text(_ bytes: [UInt8]) -> PropertyListValue { .string(String(decoding: bytes, as: UTF8.self)) }
        let value: PropertyListValue = [
            "Role": .string(role.rawValue), "Members": .array(endpoints.map { .string($0.text) }),
            "Authority": text(authority), "Certificate": text(certificate), "PrivateKey": text(privateKey),
            "FleetKey": .data(secret.bytes),
        ]
        return try value.write(as: .xml)
    }
}
#endif
