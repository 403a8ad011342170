#if FleetEtcd
package import Fleet
package import FleetCommand

/// etcd as the engine of fleets for services.
package struct Etcd: RegisterEngine {
    package init() {}

    package func client(with credentials: FleetCredentials) -> any RegisterService { EtcdClient(credentials) }

    package func limitAccess(as administrator: FleetCredentials) throws(RegisterFailure) {
        try EtcdAccess(administrator).protect(administrator.secret)
    }

    package func authority(_ files: SignedCertificate?) throws -> any CertificateAuthority {
        try files.map { try FleetAuthority($0) } ?? FleetAuthority()
    }
}
#endif
