import Glibc

/// The right to be the only agent of a directory, or on a socket, for as long as this value lives.
///
/// A claim is a lock (see `LockFile`) on a file in the directory itself, or beside the socket. So it is met by every process
/// that sees the directory, whatever namespaces it is in and by whatever path; nobody else can make or open the file; and
/// the kernel takes the lock back however its holder ends. The file names its holder, for those who are refused. It is removed at
/// the end; what a killed agent leaves is taken over.
package final class AgentClaim: Sendable {
    /// The agent that has a claim, as it has written into the file.
    package struct Holder: Hashable, Sendable {
        /// Its process, by the number that it has in its own namespace.
        package var pid: Int32
        /// The name of the machine or container that it runs on.
        package var host: String
        /// The socket at which it listens.
        package var socketPath: String

        /// The holder in a sentence.
        package var description: String {
            host == Self.ownHost ? "pid \(pid)" : "pid \(pid) on \(host.prefix { $0 != " " })"
        }

        /// The way to stop it, as a sentence for the user; a process of another host has another number here.
        package var stopping: String {
            host == Self.ownHost ? "To stop it, run `kill \(pid)`." : "To stop it, run `kill \(pid)` where it runs."
        }

        fileprivate static var ownHost: String {
            var buffer = [CChar](repeating: 0, count: 256)
            guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
            let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // In another container of the host processes have other numbers.
            var namespace = stat()
            return stat("/proc/self/ns/pid", &namespace) == 0 ? "\(name) \(namespace.st_ino)" : name
        }

        fileprivate init(of address: AgentAddress) {
            (pid, host, socketPath) = (getpid(), Self.ownHost, address.socketPath)
        }

        /// Reads what a file holds; `nil` when it isn't whole.
        fileprivate init?(_ bytes: [UInt8]) {
            // The path is the last, since it may have any character.
            let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
            guard lines.count == 3, lines[2].last == 0x0A, let pid = Int32(String(decoding: lines[0], as: UTF8.self))
            else { return nil }
            self.pid = pid
            host = String(decoding: lines[1], as: UTF8.self)
            socketPath = String(decoding: lines[2].dropLast(), as: UTF8.self)
        }

        /// Whether it may be there still: its process is, or has a number that is none here.
        fileprivate var mayRun: Bool { host != Self.ownHost || kill(pid, 0) == 0 || errno == EPERM }

        /// Whether a program of the user's listens at its socket.
        fileprivate var isListening: Bool {
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let socket = FileDescriptor(owning: Glibc.socket(AF_UNIX, kind, 0))
            let number = socket.number
            guard let address = UnixAddress(path: socketPath) else { return false }
            // One whose queue is full is there, too.
            if address.with({ connect(number, $0, $1) }) != 0 { return errno == EAGAIN }
            return SocketPeer(of: socket)?.isTrusted == true
        }

        fileprivate var bytes: [UInt8] { Array("\(pid)\n\(host)\n\(socketPath)\n".utf8) }
    }

    /// The outcome of an attempt to claim something.
    package enum Attempt {
        case claimed(AgentClaim)
        /// Another agent has it, which can be named unless it has only just begun.
        case held(by: Holder?)
        /// No file can be made there, and none is there.
        case impossible(DefaultsError)
    }

    /// The name of the file in a preferences directory.
    package static let fileName = ".defaultsd.agent"

    private let lock: LockFile

    private init(_ lock: consuming LockFile) {
        self.lock = lock
    }

    /// Tries to claim a preferences directory, which must exist, for the agent at an address.
    ///
    /// It is impossible in a directory that is read-only, or has no room left; in one that nobody can write to there is
    /// nothing that two agents could spoil.
    package static func attempt(
        onDirectory directory: PreferencesDirectory, for address: AgentAddress
    ) throws(DefaultsError) -> Attempt {
        try attempt(at: path(in: directory), isReserved: true, for: address)
    }

    /// Tries to claim the socket of an address, whose directory must exist.
    package static func attempt(onSocketOf address: AgentAddress) throws(DefaultsError) -> Attempt {
        let attempt = try attempt(at: path(of: address), isReserved: false, for: address)
        if case .impossible(let error) = attempt { throw error }
        return attempt
    }

    /// Returns the agent that has claimed a directory; `nil` when none has, or it can't be named.
    package static func holder(ofDirectory directory: PreferencesDirectory) -> Holder? {
        let path = path(in: directory)
        return LockFile.isLocked(at: path) ? holder(at: path) : nil
    }

    /// Returns whether an agent that was killed has left its claim on a directory, and no other has taken it over yet.
    package static func isAbandoned(in directory: PreferencesDirectory) -> Bool {
        let path = path(in: directory)
        return access(path, F_OK) == 0 && !LockFile.isLocked(at: path)
    }

    /// Returns whether an agent has claimed the socket of an address, and so is who listens there.
    package static func isHeld(onSocketOf address: AgentAddress) -> Bool {
        LockFile.isLocked(at: path(of: address))
    }

    /// Whether another agent would still be refused: the file has kept its name, in the directory that has the path now.
    package var isCurrent: Bool { lock.isCurrent }

    /// Sees to it that nobody else can open the file, whatever has become of its mode.
    package func keepPrivate() { lock.keepPrivate() }

    private static func path(in directory: PreferencesDirectory) -> String { "\(directory.path)/\(fileName)" }

    private static func path(of address: AgentAddress) -> String { address.socketPath + ".lock" }

    private static func attempt(
        at path: String, isReserved: Bool, for address: AgentAddress
    ) throws(DefaultsError) -> Attempt {
        do throws(SystemCall.Failure) {
            let lock = try LockFile.attempt(
                at: path, isReserved: isReserved,
                // A file of the user's own that happens to have the name isn't to be written to.
                isAcceptable: { (try? $0.status().st_size) == 0 || holder(in: $0) != nil },
                isInUse: { holder(in: $0)?.isListening == true })
            guard let lock else { return .held(by: holder(at: path)) }
            // Without the name, as on a disk that is full, it is a claim all the same.
            ftruncate(lock.file.number, 0)
            try? lock.file.write(Holder(of: address).bytes)
            return .claimed(AgentClaim(lock))
        } catch {
            // A link is not followed.
            if error.number == EEXIST || error.number == ELOOP {
                throw DefaultsError(
                    .directory,
                    "\(path), the name of the agent's lock file, is another file, or another user's. Move it away, or choose "
                        + "another socket with --socket.")
            }
            let reason = DefaultsError(
                .directory, errno: error.number, "The agent's lock file \(path) can't be created or locked")
            guard Self.impossibilities.contains(error.number) else { throw reason }
            return .impossible(reason)
        }
    }

    /// The errors of a directory, or a file system, in which nobody can make a file now, or lock one.
    private static let impossibilities = [EROFS, EACCES, EPERM, ENOSPC, EDQUOT, EOPNOTSUPP, ENOLCK, ENOSYS]

    /// Reads who holds the file at a path that is locked; `nil` when it names nobody.
    ///
    /// Where the file could be locked and not written to, as on a read-only file system, it names the holder before: one that
    /// has ended is not taken for the one that has it now.
    private static func holder(at path: String) -> Holder? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let holder = holder(in: file), holder.mayRun
        else { return nil }
        return holder
    }

    private static func holder(in file: borrowing FileDescriptor) -> Holder? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = pread(file.number, &bytes, bytes.count, 0)
        return count > 0 ? Holder(Array(bytes[..<count])) : nil
    }
}
