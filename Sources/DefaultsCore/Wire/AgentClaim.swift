import Glibc

/// The right to be the only agent of a directory, or on a socket, for as long as this value lives.
///
/// A claim is a lock (`flock`) on a file in the directory itself, or beside the socket. So it is met by every process that
/// sees the directory, whatever namespaces it is in and by whatever path; nobody else can make or open the file; and the
/// kernel takes the lock back however its holder ends. The file names its holder, for those who are refused. It is removed at
/// the end; what a killed agent leaves is taken over.
package final class AgentClaim {
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

    private let path: String
    private let file: FileDescriptor

    /// Tries to claim a preferences directory, which must exist, for the agent at an address.
    ///
    /// It is impossible in a directory that is read-only, or has no room left; in one that nobody can write to there is
    /// nothing that two agents could spoil.
    package static func attempt(
        onDirectory directory: PreferencesDirectory, for address: AgentAddress
    ) throws(DefaultsError) -> Attempt {
        try attempt(at: path(in: directory), for: address)
    }

    /// Tries to claim the socket of an address, whose directory must exist.
    package static func attempt(onSocketOf address: AgentAddress) throws(DefaultsError) -> Attempt {
        let attempt = try attempt(at: address.socketPath + ".lock", for: address)
        if case .impossible(let error) = attempt { throw error }
        return attempt
    }

    /// The agent that was the last to claim a directory; whether it still runs isn't said.
    package static func lastHolder(ofDirectory directory: PreferencesDirectory) -> Holder? {
        guard
            let file = try? FileDescriptor(opening: path(in: directory), O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), isOwn(status)
        else { return nil }
        return holder(in: file)
    }

    private init(_ file: consuming FileDescriptor, at path: String) {
        self.file = file
        self.path = path
    }

    deinit {
        // While the lock is still held: nobody else's file can be meant.
        if file.isNamed(path) { unlink(path) }
    }

    private static func path(in directory: PreferencesDirectory) -> String { "\(directory.path)/\(fileName)" }

    private static func attempt(at path: String, for address: AgentAddress) throws(DefaultsError) -> Attempt {
        do throws(SystemCall.Failure) {
            while true {
                let file = try open(path)
                let status = try file.status()
                // A file of the user's own that happens to have the name isn't to be written to.
                guard isOwn(status), status.st_size == 0 || holder(in: file) != nil else {
                    throw SystemCall.Failure(number: EEXIST)
                }
                do throws(SystemCall.Failure) {
                    try SystemCall.run { flock(file.number, LOCK_EX | LOCK_NB) }
                } catch {
                    if error.number == EWOULDBLOCK { return .held(by: holder(in: file)) }
                    throw error
                }
                // Its holder may have ended, and removed it, since it was opened.
                guard file.isNamed(path) else { continue }
                // Without the name, as on a disk that is full, it is a claim all the same.
                ftruncate(file.number, 0)
                try? file.write(Holder(of: address).bytes)
                return .claimed(AgentClaim(file, at: path))
            }
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

    private static func open(_ path: String) throws(SystemCall.Failure) -> FileDescriptor {
        do throws(SystemCall.Failure) {
            return try FileDescriptor.lockFile(at: path)
        } catch {
            // One that is there can be locked without being written to; the first failure is the one to report.
            guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { throw error }
            return file
        }
    }

    private static func isOwn(_ status: stat) -> Bool {
        // Root may serve another user's directory, and a file with a second name may be anyone's.
        status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 && (status.st_uid == geteuid() || geteuid() == 0)
    }

    private static func holder(in file: borrowing FileDescriptor) -> Holder? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = pread(file.number, &bytes, bytes.count, 0)
        return count > 0 ? Holder(Array(bytes[..<count])) : nil
    }
}
