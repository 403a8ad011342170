import Glibc
import Linux

/// The exclusive right to be the agent of a directory, or on a socket, for the lifetime of this object.
///
/// A claim is a lock (see `LockFile`) on a file in the directory itself, or beside the socket. So it is visible to
/// every process that sees the directory, in any namespace and by any path. No other user can create or open the file,
/// and the kernel releases the lock however its holder ends. The file names its holder, for the information of
/// processes that are refused. It is removed when the holder ends; if the holder was killed, the next agent reuses the
/// file.
package final class AgentClaim: Sendable {
    /// The agent that holds a claim, as named in the file.
    package struct Holder: Hashable, Sendable {
        /// The process ID of the agent, in its own namespace.
        package var pid: Int32
        /// The name of the agent's machine or container.
        package var host: String
        /// The path of the agent's socket.
        package var socketPath: String

        /// A description of the holder, for use in a sentence.
        package var description: String {
            host == Self.ownHost ? "pid \(pid)" : "pid \(pid) on \(host.prefix { $0 != " " })"
        }

        /// A sentence that tells the user how to stop the agent, whose process ID is valid only on its own host.
        package var stopping: String {
            host == Self.ownHost ? "To stop it, run `kill \(pid)`." : "To stop it, run `kill \(pid)` where it runs."
        }

        fileprivate static var ownHost: String {
            var buffer = [CChar](repeating: 0, count: 256)
            guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
            let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // In another container on the same host, processes have other IDs.
            return (try? FileStatus(at: "/proc/self/ns/pid")).map { "\(name) \($0.st_ino)" } ?? name
        }

        fileprivate init(of address: AgentAddress) {
            (pid, host, socketPath) = (getpid(), Self.ownHost, address.socketPath)
        }

        /// Parses a file's contents; fails if they are incomplete.
        fileprivate init?(_ bytes: [UInt8]) {
            // The path is the last line, since it may contain any character.
            let lines = bytes.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
            guard lines.count == 3, lines[2].last == 0x0A, let pid = Int32(String(decoding: lines[0], as: UTF8.self))
            else { return nil }
            self.pid = pid
            host = String(decoding: lines[1], as: UTF8.self)
            socketPath = String(decoding: lines[2].dropLast(), as: UTF8.self)
        }

        /// Whether the agent may still be running: its process exists, or its process ID has no meaning here.
        fileprivate var mayRun: Bool { host != Self.ownHost || kill(pid, 0) == 0 || errno == EPERM }

        /// Whether a program of this user, or of root, is listening on the socket.
        fileprivate var isListening: Bool {
            do throws(SystemCall.Failure) {
                return SocketPeer(of: try UnixSocket.connect(to: socketPath))?.isTrusted == true
            } catch {
                // The listener's queue is full.
                return error.number == EAGAIN
            }
        }

        fileprivate var bytes: [UInt8] { Array("\(pid)\n\(host)\n\(socketPath)\n".utf8) }
    }

    /// The outcome of an attempt to claim a directory or a socket.
    package enum Attempt {
        case claimed(AgentClaim)
        /// Another agent holds the claim; its name is missing if it has only just started.
        case held(by: Holder?)
        /// No file can be created or locked there.
        case impossible(DefaultsError)
    }

    /// The name of the claim's file in a preferences directory.
    package static let fileName = ".defaultsd.agent"

    private let lock: LockFile

    private init(_ lock: consuming LockFile) {
        self.lock = lock
    }

    /// Tries to claim a preferences directory, which must exist, for the agent at an address.
    ///
    /// This is impossible in a directory that is read-only or on a full file system. Where no process can write, two
    /// agents can do no damage.
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

    /// Returns the agent that has claimed a directory; `nil` if there is none, or if its name is unknown.
    package static func holder(ofDirectory directory: PreferencesDirectory) -> Holder? {
        let path = path(in: directory)
        return LockFile.isLocked(at: path) ? holder(at: path) : nil
    }

    /// Returns whether an agent has claimed a directory, even if it doesn't answer, or runs in another container.
    package static func isHeld(of directory: PreferencesDirectory) -> Bool {
        LockFile.isLocked(at: path(in: directory))
    }

    /// Returns the other user to whom a directory's claim belongs; `nil` if there is none, or it is this user's own.
    package static func foreignOwner(ofDirectory directory: PreferencesDirectory) -> UInt32? {
        LockFile.foreignOwner(of: path(in: directory))
    }

    /// Returns whether a killed agent has left its claim's file in a directory, and no other agent has claimed the
    /// directory since.
    package static func isAbandoned(in directory: PreferencesDirectory) -> Bool {
        let path = path(in: directory)
        return access(path, F_OK) == 0 && !LockFile.isLocked(at: path)
    }

    /// Returns whether an agent has claimed the socket of an address, so that any program listening there is that
    /// agent.
    package static func isHeld(onSocketOf address: AgentAddress) -> Bool {
        LockFile.isLocked(at: path(of: address))
    }

    /// Whether another agent would still be refused, because the path still leads to this claim's file.
    package var isCurrent: Bool { lock.isCurrent }

    /// Restores the file's mode if it was changed, so that no other user can open the file.
    package func restrictMode() { lock.restrictMode() }

    private static func path(in directory: PreferencesDirectory) -> String { "\(directory.path)/\(fileName)" }

    private static func path(of address: AgentAddress) -> String { address.socketPath + ".lock" }

    private static func attempt(
        at path: String, isReserved: Bool, for address: AgentAddress
    ) throws(DefaultsError) -> Attempt {
        do throws(SystemCall.Failure) {
            let lock = try LockFile.attempt(
                at: path, isReserved: isReserved,
                // Don't overwrite an unrelated file of the user's that happens to have the name.
                isAcceptable: { isBlank($0) || holder(in: $0) != nil },
                isInUse: { holder(in: $0)?.isListening == true })
            guard let lock else { return .held(by: holder(at: path)) }
            // The claim is valid even if the holder's name can't be written, as on a full disk.
            ftruncate(lock.file.number, 0)
            try? lock.file.write(Holder(of: address).bytes)
            return .claimed(AgentClaim(lock))
        } catch {
            // ELOOP means that the name is a link, which isn't followed.
            if error.number == EEXIST || error.number == ELOOP {
                throw DefaultsError(
                    .directory,
                    "\(path) should be the agent's lock file, but is another file or belongs to another user.",
                    remedy: "Move it away, or choose another socket with --socket.")
            }
            let reason = DefaultsError(
                .directory, errno: error.number, "The agent's lock file \(path) can't be created or locked")
            guard Self.impossibilities.contains(error.number) else { throw reason }
            return .impossible(reason)
        }
    }

    /// The error numbers of directories and file systems in which files currently can't be created or locked.
    private static let impossibilities = [EROFS, EACCES, EPERM, ENOSPC, EDQUOT, EOPNOTSUPP, ENOLCK, ENOSYS]

    /// Returns whether a file is empty, or has only zeros, as after a power failure.
    private static func isBlank(_ file: borrowing FileDescriptor) -> Bool {
        guard let bytes = try? file.read(upTo: 4_096, from: 0) else { return false }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// Reads the holder's name from a locked file at a path; returns `nil` if the file names no running holder.
    ///
    /// If the file could be locked but not written, as on a full disk, it may name an earlier holder. A holder that has
    /// ended isn't returned.
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
