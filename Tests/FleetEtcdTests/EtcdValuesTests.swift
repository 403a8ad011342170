#if FleetEtcd
import Fleet
import FleetCommand
import FoundationEssentials
import GRPCCore
import SwiftASN1
import Testing
import X509

@testable import FleetEtcd

@Suite("What etcd's keys, failures and certificates become")
struct EtcdValuesTests {
    @Test("A range ends after all keys with its prefix", arguments: [("a/", "a0"), ("é", "ê"), ("0", "1")])
    func endOfRange(prefix: String, end: String) {
        #expect(EtcdRange.end(of: prefix) == Data(end))
    }

    @Test(
        "Failures that a further attempt can't change are refusals",
        arguments: [RPCError.Code.permissionDenied, .unauthenticated, .resourceExhausted, .invalidArgument])
    func refusals(code: RPCError.Code) {
        let failure = RegisterFailure(RPCError(code: code, message: "etcdserver: permission denied."))
        guard case .refused("etcdserver: permission denied") = failure else {
            Issue.record("\(failure)")
            return
        }
    }

    @Test("Other failures pass", arguments: [RPCError.Code.unavailable, .deadlineExceeded, .internalError, .unknown])
    func passingFailures(code: RPCError.Code) {
        let failure = RegisterFailure(RPCError(code: code, message: "failed", cause: NoRoute()))
        guard case .unavailable("failed: no route") = failure else {
            Issue.record("\(failure)")
            return
        }
    }

    private struct NoRoute: Error, CustomStringConvertible {
        let description = "no route"
    }

    @Test("An authority that is read from its files signs for the same clients")
    func authorityFromFiles() throws {
        let first = try FleetAuthority()
        let second = try FleetAuthority(first.files)
        let client = try second.signClient("receiver", days: 2)
        let certificate = try Certificate(pemEncoded: String(decoding: client.certificate, as: UTF8.self))
        let authority = try Certificate(pemEncoded: String(decoding: first.files.certificate, as: UTF8.self))
        #expect(certificate.issuer == authority.subject)
        #expect(authority.publicKey.isValidSignature(certificate.signature, for: certificate))
        #expect(String(describing: certificate.subject) == "CN=receiver")
        #expect(FleetAuthority.expiry(of: client.certificate) == nil)
    }

    @Test("An expired certificate has a day")
    func expiredCertificate() throws {
        let client = try FleetAuthority().signClient("receiver", days: -1)
        let day = try #require(FleetAuthority.expiry(of: client.certificate))
        #expect(day.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil)
    }

    @Test("A member's certificate has its address, its loopback, and the fleet's name")
    func memberNames() throws {
        let member = try FleetAuthority().signMember("10.1.2.3", days: 2)
        let certificate = try Certificate(pemEncoded: String(decoding: member.certificate, as: UTF8.self))
        let names = try #require(try certificate.extensions.subjectAlternativeNames).map(String.init(describing:))
        #expect(names.count == 4)
        #expect(names.contains { $0.contains(FleetCredentials.serverName) })
    }
}
#endif
