import Glibc
package import Linux

/// The paths of the files in which the agent of a directory keeps its change log and the archive of older records.
///
/// For the default directory, they are in `$XDG_STATE_HOME/defaultsd`, so that the history and cursors survive a
/// reboot. For a directory that the user named, such as a test's, they are beside the socket, so that nothing of it is
/// left in the user's home.
package struct LogLocation: Hashable, Sendable {
    /// The path of the change log.
    package let log: String
    /// The path of the archive.
    package var archive: String { "\(log.dropLast(Self.suffix.count)).archive" }
    /// The path beside the socket, where earlier versions kept the change log; `nil` if it is the same.
    private let pathBesideSocket: String?
    private static let suffix = ".log"

    /// Finds the location for the agent of a directory.
    ///
    /// The names contain a hash of the directory's path, so that an agent that serves another directory doesn't load
    /// these edits.
    package init(for directory: PreferencesDirectory, socketAt socket: String, environment: Environment) {
        let name = "\(directory.resolvedPathHash)\(Self.suffix)"
        let besideSocket = "\(socket).\(name)"
        if directory.isUsual(in: environment), let state = Self.stateHome(environment) {
            (log, pathBesideSocket) = ("\(state)/defaultsd/\(name)", besideSocket)
        } else {
            (log, pathBesideSocket) = (besideSocket, nil)
        }
    }

    /// The location beside the socket, for an agent that can't use the usual one.
    package var fallback: LogLocation? { pathBesideSocket.map { LogLocation(log: $0) } }

    /// Creates the location of a log at a path.
    package init(log: String) {
        (self.log, pathBesideSocket) = (log, nil)
    }

    /// Whether an earlier agent may have left a log here.
    var mayHaveLog: Bool { access(log, F_OK) == 0 || ![ENOENT, ENOTDIR].contains(errno) }

    /// Removes the files in the fallback, whose contents are in the usual place now, and any that a crash left there.
    package func removeFallback() {
        guard let fallback else { return }
        ChangeLogFile.removeLeftovers(of: fallback.log)
        for path in [fallback.log, fallback.archive, ExclusionsFile(besideLog: fallback.log).path] {
            unlink(path)
            unlink(HistoryArchive.newVersion(of: path))
        }
    }

    private static func stateHome(_ environment: Environment) -> String? {
        if let given = environment["XDG_STATE_HOME"], Path.isAbsolute(given) { return given }
        return environment.home.map { "\($0)/.local/state" }
    }

    /// Creates the directory of the files, accessible only to the user.
    ///
    /// - Throws: The failure of the system call, or `EPERM` if the directory belongs to another user.
    package func makeDirectory() throws(SystemCall.Failure) {
        let path = Path.directory(of: log)
        var missing = [path]
        while let next = missing.last, access(next, F_OK) != 0, next != "/" { missing.append(Path.directory(of: next)) }
        guard missing.count == 1 && access(path, F_OK) == 0 || NewFile.willBeOwn(path) else {
            throw SystemCall.Failure(number: EPERM)
        }
        for path in missing.reversed() { try NewFile.makeDirectory(path) }
        guard try FileStatus(at: path).isOwn else { throw SystemCall.Failure(number: EPERM) }
    }

    /// Tries to get the exclusive right to write the files, whose directory must exist.
    ///
    /// Agents that don't see each other's claims may have the same state directory, as in two containers. Without this
    /// lock, their histories would be mixed, and one of them lost.
    ///
    /// - Returns: The lock; `nil` if another agent has it.
    /// - Throws: The failure of the system call.
    package func lock() throws(SystemCall.Failure) -> LockFile? { try LockFile.attempt(at: "\(log).lock") }

    /// Whether a process has that right.
    package var isLocked: Bool { LockFile.isLocked(at: "\(log).lock") }

    /// Returns the path of the directory where the connector to a fleet keeps its state, which is always the one that
    /// survives a reboot; `nil` if the user has no home directory.
    package static func fleetDirectory(for directory: PreferencesDirectory, environment: Environment) -> String? {
        stateHome(environment).map { "\($0)/defaultsd/\(directory.resolvedPathHash).fleet" }
    }

    /// Returns the path of the directory for the values that dconf had when GSettings was switched to the agent, or
    /// back; `nil` if the user has no home directory.
    package static func gsettingsDirectory(
        for directory: PreferencesDirectory, environment: Environment
    ) -> String? {
        stateHome(environment).map { "\($0)/defaultsd/\(directory.resolvedPathHash).gsettings" }
    }
}
