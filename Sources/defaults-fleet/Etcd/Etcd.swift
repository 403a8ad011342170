#if FleetEtcd
import Fleet
import FleetCommand

/// etcd as the engine of fleets for services.
struct Etcd: RegisterEngine {
    func client(with credentials: FleetCredentials) -> any RegisterService { EtcdClient(credentials) }

    func limitAccess(as administrator: FleetCredentials) throws(RegisterFailure) {
        try EtcdAccess(administrator).protect(administrator.secret)
    }

    func authority(_ files: SignedCertificate?) throws -> any CertificateAuthority {
        try files.map { try FleetAuthority($0) } ?? FleetAuthority()
    }
}
#endif
