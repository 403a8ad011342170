import DefaultsCore
import Glibc

/// The right to be the only agent of a directory, or on a socket, for as long as this value lives.
///
/// It is a socket with an abstract name (`man 7 unix`): the kernel gives a name once, takes it back when its owner ends
/// however it ends, and tells who owns it. So nothing is left behind in anyone's directory, and nothing can be stale.
final class AgentClaim {
    private let socket: FileDescriptor

    /// Claims a preferences directory, which must exist.
    convenience init(onDirectory directory: PreferencesDirectory) throws(DefaultsError) {
        var status = stat()
        guard stat(directory.path, &status) == 0 else {
            throw DefaultsError(.directory, errno: errno, "The preferences directory \(directory.path) can't be used")
        }
        // The number alone may be another directory's, after this one is deleted; the path alone, another's in a container.
        let path = ContentHash(Array(directory.resolvedPath.utf8))
        try self.init("directory/\(status.st_dev)-\(status.st_ino)/\(path)", for: "the directory \(directory.path)")
    }

    /// Claims a socket's path.
    convenience init(onSocket address: AgentAddress) throws(DefaultsError) {
        let place = PreferencesDirectory(path: address.directoryPath).resolvedPath
        let name = address.socketPath.split(separator: "/").last ?? ""
        try self.init("socket/\(ContentHash(Array("\(place)/\(name)".utf8)))", for: "the socket \(address.socketPath)")
    }

    private init(_ name: String, for what: String) throws(DefaultsError) {
        let socket = Self.makeSocket()
        let number = socket.number
        guard let name = UnixAddress(abstractName: "defaultsd/\(geteuid())/\(name)"), number >= 0,
            name.with({ bind(number, $0, $1) }) == 0 || errno == EADDRINUSE
        else {
            throw DefaultsError(.directory, errno: errno, "The agent can't claim \(what)")
        }
        // Listening makes this process the peer whom `owner` sees; who has only bound the name already listens.
        if listen(socket.number, SOMAXCONN) != 0 {
            switch Self.owner(of: name) {
            case .anotherUser: break
            case .unknown:
                throw DefaultsError(
                    .agentRefused, "Another agent serves \(what) already; ask it with `defaults status`.")
            case .agent(let pid):
                throw DefaultsError(
                    .agentRefused,
                    "Another agent (pid \(pid)) serves \(what) already; ask it with `defaults status`, or end it with "
                        + "`kill \(pid)`.")
            }
        }
        self.socket = socket
    }

    private enum Owner {
        case agent(pid_t)
        /// Who can only be in the way by intent.
        case anotherUser
        /// It doesn't listen yet, or too many have asked already.
        case unknown
    }

    private static func owner(of name: UnixAddress) -> Owner {
        for _ in 0..<50 {
            let socket = makeSocket()
            let number = socket.number
            if name.with({ connect(number, $0, $1) }) == 0, let peer = SocketPeer(of: socket) {
                return peer.uid == geteuid() ? .agent(peer.pid) : .anotherUser
            }
            poll(nil, 0, 2)
        }
        return .unknown
    }

    private static func makeSocket() -> FileDescriptor {
        FileDescriptor(
            owning: Glibc.socket(
                AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    }
}
