#if Fleet
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux
import PropertyList

/// The place where the machines of a fleet meet.
enum FleetPlace: Hashable {
    /// A folder that syncs; its absolute path.
    case folder(String)
    /// etcd; the absolute path of the file with this machine's credentials.
    case etcd(String)

    /// The path that a person has named.
    var path: String {
        switch self {
        case .folder(let path), .etcd(let path): path
        }
    }

    /// The place, after "in the fleet".
    var phrase: String {
        switch self {
        case .folder(let path): "in \(path)"
        case .etcd(let path): "on etcd, with \(path)"
        }
    }

    /// Reads the place from the entries of a membership; `nil` if they have none.
    init?(_ entries: DomainValues) {
        if case .string(let path)? = entries["Folder"] {
            self = .folder(path)
        } else if case .string(let path)? = entries["Credentials"] {
            self = .etcd(path)
        } else {
            return nil
        }
    }

    var entries: DomainValues {
        switch self {
        case .folder(let path): ["Folder": .string(path)]
        case .etcd(let path): ["Credentials": .string(path)]
        }
    }

    /// Finds the place that an argument names: a folder, or a credentials file.
    init(argument: String) throws(Failure) {
        let path = Self.absolute(Environment.current.expandingTilde(argument))
        let status = argument.isEmpty ? nil : try? FileStatus(at: path)
        switch status {
        case let status? where status.isDirectory: self = .folder(path)
        case let status? where status.isRegular: self = .etcd(path)
        default:
            throw Failure(
                "\"\(argument)\" isn't a directory. Create it, or name the folder that your tool syncs; on etcd, name "
                    + "the credentials file.", .noInput)
        }
    }

    /// Returns a path from the root, whose links are followed each time that it is used.
    private static func absolute(_ path: String) -> String {
        if Path.isAbsolute(path) { return path }
        // The shell knows by which links its user got here.
        let named = Environment.current["PWD"].flatMap { name in
            let isHere = (try? FileStatus(at: name).isSame(as: FileStatus(at: "."))) == true
            return isHere && Path.isAbsolute(name) ? name : nil
        }
        let working = named ?? Path.resolved(".")
        return path == "." ? working : "\(working)/\(path)"
    }

    /// Returns whether both are one place now.
    func isSame(as other: FleetPlace) -> Bool { self == other || Path.resolved(path) == Path.resolved(other.path) }

    /// The folder; `nil` for etcd.
    func folder(of machine: MachineID) -> FolderTransport? {
        guard case .folder(let path) = self else { return nil }
        return FolderTransport(path, own: machine)
    }

    /// Returns this machine's credentials for etcd; `nil` for a folder.
    func credentials() throws -> FleetCredentials? {
        guard case .etcd(let path) = self else { return nil }
        return try FleetCredentials(path: path, as: .peer)
    }

    /// The time between comparisons of what was received with what etcd has, in milliseconds.
    private static let comparisonInterval: Int64 = 600_000

    /// Returns the exchange between a machine with the fleet's key and the others.
    func exchange(of machine: MachineID, with secret: FleetSecret) throws -> any FleetExchange {
        switch self {
        case .folder(let path): return FileExchange(FolderTransport(path, own: machine), with: secret)
        case .etcd(let path):
            let credentials = try FleetCredentials(path: path, as: .peer)
            guard credentials.secret.number == secret.number else {
                throw Failure(
                    "\(path) has the credentials of another fleet. Put the former ones back, or run `defaults fleet "
                        + "leave --force`.", .dataError)
            }
            return RegisterExchange(
                try RegisterEngines.require().client(with: credentials), with: secret,
                comparingEvery: Self.comparisonInterval)
        }
    }
}
#endif
