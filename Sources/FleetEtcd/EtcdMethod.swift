#if FleetEtcd
import GRPCCore
import SwiftProtobuf

/// A method of etcd's interface, with the types of its request and its answer.
struct EtcdMethod<Request: Message, Answer: Message>: Sendable {
    let descriptor: MethodDescriptor

    fileprivate init(_ service: String, _ name: String, streams: Bool = false) {
        descriptor = MethodDescriptor(
            service: ServiceDescriptor(fullyQualifiedService: "etcdserverpb.\(service)"), method: name,
            type: streams ? .bidirectionalStreaming : .unary)
    }
}

extension EtcdMethod where Request == Etcdserverpb_RangeRequest, Answer == Etcdserverpb_RangeResponse {
    static var range: Self { Self("KV", "Range") }
}

extension EtcdMethod where Request == Etcdserverpb_TxnRequest, Answer == Etcdserverpb_TxnResponse {
    static var transaction: Self { Self("KV", "Txn") }
}

extension EtcdMethod where Request == Etcdserverpb_WatchRequest, Answer == Etcdserverpb_WatchResponse {
    static var watch: Self { Self("Watch", "Watch", streams: true) }
}

extension EtcdMethod where Request == Etcdserverpb_LeaseGrantRequest, Answer == Etcdserverpb_Empty {
    static var grantLease: Self { Self("Lease", "LeaseGrant") }
}

extension EtcdMethod where Request == Etcdserverpb_Empty, Answer == Etcdserverpb_Empty {
    static var enableAccess: Self { Self("Auth", "AuthEnable") }
}

extension EtcdMethod where Request == Etcdserverpb_AuthUserAddRequest, Answer == Etcdserverpb_Empty {
    static var addUser: Self { Self("Auth", "UserAdd") }
}

extension EtcdMethod where Request == Etcdserverpb_AuthUserGrantRoleRequest, Answer == Etcdserverpb_Empty {
    static var grantRole: Self { Self("Auth", "UserGrantRole") }
}

extension EtcdMethod where Request == Etcdserverpb_AuthRoleAddRequest, Answer == Etcdserverpb_Empty {
    static var addRole: Self { Self("Auth", "RoleAdd") }
}

extension EtcdMethod where Request == Etcdserverpb_AuthRoleGrantPermissionRequest, Answer == Etcdserverpb_Empty {
    static var grantPermission: Self { Self("Auth", "RoleGrantPermission") }
}
#endif
