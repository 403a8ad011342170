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
        guard let path = ProgramFile()?.path else { return nil }
        if (try? FileStatus(at: path))?.isRegular == false {
            return DefaultsError(.agentUnavailable, "The program \(path) is not a file.")
        }
        if access(path, X_OK) == 0 { return nil }
        return DefaultsError(.agentUnavailable, errno: errno, "The program \(path) can't be started")
    }

    /// Replaces this program with the installed one.
    ///
    /// The agent must have shut down. The new program gets the files that this one got, and none that it has opened.
    ///
    /// - Parameters:
    ///   - files: The descriptors that were open when the program started.
    ///   - socket: The socket of the service manager, which is one of them.
    /// - Throws: `agentUnavailable` if neither the installed program nor this one can be started.
    static func perform(keeping files: Set<Int32>, _ socket: InheritedSocket?) throws(DefaultsError) -> Never {
        // NIO accepts connections without close-on-exec. The client of one that stayed open would never notice that the
        // agent it was talking to has gone.
        for number in OpenFiles.numbers.subtracting(files) { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        socket?.setInheritance(true)
        let path = ProgramFile()?.path ?? "/proc/self/exe"
        // `CommandLine.arguments` would change bytes that aren't UTF-8.
        execv(path, CommandLine.unsafeArgv)
        let error = DefaultsError(.agentUnavailable, errno: errno, "The program \(path) can't be started")
        let line = Array("defaultsd: \(error) This version starts again.\n".utf8)
        write(STDERR_FILENO, line, line.count)
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        throw error
    }
}
