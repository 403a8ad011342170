#if FleetEtcd
import Fleet
import FleetCommand
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import SwiftProtobuf

/// The users and roles of a fleet's etcd, which its clients' certificates name.
struct EtcdAccess {
    private let client: EtcdClient

    init(_ credentials: FleetCredentials) { client = EtcdClient(credentials) }

    /// Makes what is missing, and turns access control on.
    func protect(_ secret: FleetSecret) throws(RegisterFailure) {
        try add("root")
        for role in [FleetCredentials.Role.receiver, .operator] { try add(role.rawValue) }
        try permit(FleetCredentials.Role.operator.rawValue, to: .readwrite, RegisterName.prefix(of: secret))
        // Machines can't change what is pushed.
        try permit(FleetCredentials.Role.receiver.rawValue, to: .read, RegisterName.pushed(secret))
        try permit(FleetCredentials.Role.receiver.rawValue, to: .readwrite, RegisterName.receivers(secret))
        try unlessDone { () throws(RegisterFailure) in
            _ = try client.call {
                try await Etcdserverpb_Auth.Client(wrapping: $0).authEnable($1, options: $2)
            } with: {
                Etcdserverpb_AuthEnableRequest()
            }
        }
    }

    /// Adds a user without a password, and a role of the same name.
    private func add(_ name: String) throws(RegisterFailure) {
        try unlessDone { () throws(RegisterFailure) in
            _ = try client.call {
                try await Etcdserverpb_Auth.Client(wrapping: $0).roleAdd($1, options: $2)
            } with: {
                .with { $0.name = name }
            }
        }
        try unlessDone { () throws(RegisterFailure) in
            _ = try client.call {
                try await Etcdserverpb_Auth.Client(wrapping: $0).userAdd($1, options: $2)
            } with: {
                .with {
                    $0.name = name
                    $0.options = .with { $0.noPassword = true }
                }
            }
        }
        try unlessDone { () throws(RegisterFailure) in
            _ = try client.call {
                try await Etcdserverpb_Auth.Client(wrapping: $0).userGrantRole($1, options: $2)
            } with: {
                .with { ($0.user, $0.role) = (name, name) }
            }
        }
    }

    private func permit(
        _ role: String, to type: Etcdserverpb_Permission.TypeEnum, _ prefix: String
    ) throws(RegisterFailure) {
        try unlessDone { () throws(RegisterFailure) in
            _ = try client.call {
                try await Etcdserverpb_Auth.Client(wrapping: $0).roleGrantPermission($1, options: $2)
            } with: {
                .with {
                    $0.name = role
                    $0.perm = .with {
                        ($0.permType, $0.key, $0.rangeEnd) = (type, FleetData(prefix), EtcdRange.end(of: prefix))
                    }
                }
            }
        }
    }

    private func unlessDone(_ body: () throws(RegisterFailure) -> Void) throws(RegisterFailure) {
        do throws(RegisterFailure) { try body() } catch {
            guard case .refused(let reason) = error, reason.contains("already") else { throw error }
        }
    }
}
#endif
