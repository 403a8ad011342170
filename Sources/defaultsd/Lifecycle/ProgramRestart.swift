import DefaultsCore
import Glibc
import Linux

/// The replacement of the running program with the version that is now installed at its path.
///
/// The process keeps its ID, arguments, environment and inherited socket, so to a service manager it is the same
/// service.
enum ProgramRestart {
    /// The reason why the program can't be started; `nil` if it can.
    static var problem: DefaultsError? {
        guard let path, access(path, X_OK) != 0 else { return nil }
        return DefaultsError(.agentUnavailable, errno: errno, "The program \(path) can't be started")
    }

    /// Replaces this program with the installed one.
    ///
    /// The agent must have shut down. Of the open files, only the standard streams and the inherited socket are kept.
    ///
    /// - Throws: `agentUnavailable` if the program can't be started.
    static func perform(keeping inherited: InheritedSocket?) throws(DefaultsError) -> Never {
        closeFilesOnExec()
        inherited?.setInheritance(true)
        let path = path ?? "/proc/self/exe"
        // `CommandLine.arguments` would change bytes that aren't UTF-8.
        execv(path, CommandLine.unsafeArgv)
        throw DefaultsError(.agentUnavailable, errno: errno, "The program \(path) can't be started")
    }

    /// Marks all files as close-on-exec, except the standard streams.
    ///
    /// NIO accepts connections without close-on-exec. The client of one that stayed open would never notice that the
    /// agent it was talking to has gone.
    private static func closeFilesOnExec() {
        guard let listing = try? DirectoryListing("/proc/self/fd") else { return }
        while let entry = try? listing.next() {
            guard let number = entry.name.flatMap({ Int32($0) }), number > STDERR_FILENO else { continue }
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        }
    }

    /// The path of the program, without the mark that the kernel adds if the file was replaced.
    private static var path: String? {
        guard let target = SystemCall.target(ofLink: "/proc/self/exe") else { return nil }
        let path = String(decoding: target, as: UTF8.self)
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }
}
