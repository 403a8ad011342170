#if FleetEtcd
import Fleet
import FleetCommand
import SwiftProtobuf

/// The users and roles of a fleet's etcd, which its clients' certificates name.
struct EtcdAccess {
    private let client: EtcdClient

    init(_ credentials: FleetCredentials) { client = EtcdClient(credentials) }

    /// Makes what is missing, and turns access control on.
    func protect(_ secret: FleetSecret) throws(RegisterFailure) {
        try add("root")
        for role in [FleetCredentials.Role.receiver, .operator] { try add(role.rawValue) }
        try permit(FleetCredentials.Role.operator.rawValue, to: .readAndWrite, below: RegisterName.prefix(of: secret))
        // Machines can't change what is pushed.
        try permit(FleetCredentials.Role.receiver.rawValue, to: .read, below: RegisterName.pushed(secret))
        try permit(FleetCredentials.Role.receiver.rawValue, to: .readAndWrite, below: RegisterName.receivers(secret))
        try unlessDone(.enableAccess, with: Etcdserverpb_Empty())
    }

    /// Adds a user without a password, and a role of the same name.
    private func add(_ name: String) throws(RegisterFailure) {
        try unlessDone(.addRole, with: .with { $0.name = name })
        try unlessDone(.addUser, with: .with { ($0.name, $0.options.noPassword) = (name, true) })
        try unlessDone(.grantRole, with: .with { ($0.user, $0.role) = (name, name) })
    }

    /// The access of a role to the keys of a range, as the interface's number.
    private enum Access: Int32 {
        case read = 0
        case readAndWrite = 2
    }

    private func permit(_ role: String, to access: Access, below prefix: String) throws(RegisterFailure) {
        try unlessDone(
            .grantPermission,
            with: .with {
                $0.name = role
                $0.perm.permType = access.rawValue
                ($0.perm.key, $0.perm.rangeEnd) = (FleetData(prefix), EtcdRange.end(of: prefix))
            })
    }

    /// Makes a request whose effect may be there already.
    private func unlessDone<Request>(
        _ method: EtcdMethod<Request, Etcdserverpb_Empty>, with request: Request
    ) throws(RegisterFailure) {
        do throws(RegisterFailure) { _ = try client.call(method, with: request) } catch {
            guard case .refused(let reason) = error, reason.contains("already") else { throw error }
        }
    }
}
#endif
