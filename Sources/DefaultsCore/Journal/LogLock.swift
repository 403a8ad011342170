import Glibc
package import Linux

/// The exclusive right to write a change log and its archive.
///
/// Agents that don't see each other's claims may have the same state directory, as in two containers. Without this
/// lock, their histories would be mixed, and one of them lost.
package final class LogLock: Sendable {
    private let lock: LockFile

    private init(_ lock: consuming LockFile) {
        self.lock = lock
    }

    /// Tries to lock a log, whose directory must exist.
    ///
    /// - Parameter path: The path of the log.
    /// - Returns: The lock; `nil` if another agent has it.
    /// - Throws: The failure of the system call.
    package static func attempt(forLog path: String) throws(SystemCall.Failure) -> LogLock? {
        guard let lock = try LockFile.attempt(at: "\(path).lock") else { return nil }
        return LogLock(lock)
    }

    /// Whether another agent would still be refused, because the path still leads to this lock's file.
    var isCurrent: Bool { lock.isCurrent }

    /// Creates the directory of a log, accessible only to the user.
    ///
    /// - Throws: The failure of the system call, or `EPERM` if the directory belongs to another user.
    package static func makeDirectory(forLog log: String) throws(SystemCall.Failure) {
        let path = Path.directory(of: log)
        var missing = [path]
        while let next = missing.last, access(next, F_OK) != 0, next != "/" { missing.append(Path.directory(of: next)) }
        guard missing.count == 1 && access(path, F_OK) == 0 || NewFile.willBeOwn(path) else {
            throw SystemCall.Failure(number: EPERM)
        }
        for path in missing.reversed() { try NewFile.makeDirectory(path) }
        var status = stat()
        try SystemCall.run { stat(path, &status) }
        guard status.st_uid == geteuid() else { throw SystemCall.Failure(number: EPERM) }
    }
}
