#if Fleet
import ArgumentParser
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux

/// `defaults fleet init etcd DIRECTORY`.
struct Initialize: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up etcd for a service's machines: certificates, configuration, access.",
        discussion: """
            In DIRECTORY, makes an authority for certificates, a subdirectory for each member of etcd with its \
            certificate and its configuration, and two credentials files: receivers.fleet for a service's \
            machines, and operator.fleet for those who push to them; and root.pem with its key, for `etcdctl`. Copy \
            each member's directory to its host, to the path that --place names, and start `etcd --config-file \
            etcd.yml` there.

            Run the same command again when the members are running: it makes etcd's users and roles, and turns \
            access control on. With --renew, it signs new certificates and writes new credentials, for the same fleet.

            Whoever has DIRECTORY can do everything: keep it offline.

            EXAMPLES
              defaults fleet init etcd ~/fleet --members a=10.0.0.1,b=10.0.0.2,c=10.0.0.3
              defaults fleet init etcd ~/fleet
            """)

    enum Engine: String, ExpressibleByArgument, CaseIterable { case etcd }

    @Argument(help: "The engine: etcd.") var engine: Engine
    @Argument(help: "The directory, which is made if need be.", completion: .directory) var directory: String
    @Option(help: "The members, as NAME=HOST or NAME=HOST:PORT, with commas. Members use the next port, too.")
    var members: String?
    @Option(help: "The directory of a member's files on its host (default: where they are made).") var place: String?
    @Option(help: "The days for which certificates are valid.") var days = 730
    @Flag(help: "Sign new certificates.") var renew = false

    /// A member of etcd.
    struct EtcdMember: Hashable {
        var name: String
        var endpoint: FleetCredentials.Endpoint

        var clientURL: String { "https://\(endpoint.text)" }
        var peerURL: String {
            var peer = endpoint
            peer.port += 1
            return "https://\(peer.text)"
        }
    }

    func validate() throws {
        guard (1...3_650).contains(days) else { throw ValidationError("Use 1 to 3650 days.") }
        if directory.isEmpty { throw ValidationError("Name a directory.") }
    }

    func run() throws {
        let files = AuthorityDirectory(path: Path.resolved(Environment.current.expandingTilde(directory)))
        var configuration = try files.configuration()
        if let members {
            let wanted = try Self.parse(members)
            if let configuration, configuration.members != wanted {
                throw Failure(
                    "\(files.path) is of a fleet with other members. Add and remove members with `etcdctl member`, and "
                        + "change members.plist there; or use another directory.", .usage)
            }
            if configuration == nil {
                configuration = try files.begin(with: wanted)
                if wanted.count == 2 {
                    Failure.report("With two members, neither may fail. Use three, or one for a trial.")
                }
            }
        }
        guard let configuration else {
            throw Failure("Name the members: --members a=10.0.0.1,b=10.0.0.2,c=10.0.0.3.", .usage)
        }
        let engine = try RegisterEngines.require()
        let isNew = try files.write(configuration, days: days, place: place, renew: renew)
        if renew {
            print(
                "Signed new certificates, valid for \(days.counting("day")). From \(files.path.printable), copy each "
                    + "member's directory to its host, and the credentials to those who have the former ones, which "
                    + "stay valid until they expire. Nothing has to be restarted.")
        } else if isNew {
            print("Wrote certificates and configurations in \(files.path.printable).")
            for member in configuration.members {
                let place = place ?? "\(files.path)/\(member.name)"
                print("  \(member.name): etcd --config-file \("\(place)/etcd.yml".quotedForShell)")
            }
        }
        // Members that have just been started take some seconds.
        var backoff = Backoff(from: .milliseconds(250), to: .seconds(1), timeout: isNew ? .zero : .seconds(20))
        do {
            while true {
                do throws(RegisterFailure) {
                    try engine.limitAccess(as: files.rootCredentials(configuration))
                    return print("Access to etcd is limited to this fleet's certificates.")
                } catch {
                    guard case .unavailable = error, backoff.wait() else { throw error }
                }
            }
        } catch let error as RegisterFailure {
            guard isNew, case .unavailable = error else { throw error.failure }
            print(
                (renew
                    ? "etcd can't be reached now. To check that access is limited, run this again: "
                    : "etcd isn't running yet. Start the members, and then run this again to limit the access: ")
                    + "defaults fleet init etcd \(directory.quotedForShell)")
        }
    }

    private static func parse(_ text: String) throws -> [EtcdMember] {
        let members = try text.split(separator: ",").map { part in
            let parts = part.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let endpoint = FleetCredentials.Endpoint(parts[1]),
                parts[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
            else {
                throw Failure("\"\(part)\" isn't a member. Use NAME=HOST or NAME=HOST:PORT.", .usage)
            }
            return EtcdMember(name: parts[0], endpoint: endpoint)
        }
        guard !members.isEmpty, Set(members.map(\.name)).count == members.count else {
            throw Failure("Use a different name for each member.", .usage)
        }
        return members
    }
}
#endif
