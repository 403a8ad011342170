import DefaultsCore
import Glibc
import Linux

/// The replacement of the running program by the version that is now installed at its path.
///
/// The process keeps its ID, arguments, environment and inherited socket, so service managers notice nothing.
enum ProgramRestart {
    /// The reason why the program can't be started; `nil` if it can.
    static var problem: DefaultsError? {
        guard let path, access(path, X_OK) != 0 else { return nil }
        return DefaultsError(.agentUnavailable, errno: errno, "The program \(path) can't be started")
    }

    /// Starts the installed program in place of this one.
    ///
    /// The agent must have shut down. All its files close by themselves (close-on-exec), except the inherited socket.
    ///
    /// - Throws: `agentUnavailable` if the program can't be started.
    static func perform(keeping inherited: InheritedSocket?) throws(DefaultsError) -> Never {
        inherited?.setInheritance(true)
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        let path = path ?? "/proc/self/exe"
        execv(path, arguments)
        throw DefaultsError(.agentUnavailable, errno: errno, "The program \(path) can't be started")
    }

    /// The path of the program, without the mark that the kernel adds if the file was replaced.
    private static var path: String? {
        guard let target = SystemCall.target(ofLink: "/proc/self/exe") else { return nil }
        let path = String(decoding: target, as: UTF8.self)
        let mark = " (deleted)"
        return path.hasSuffix(mark) ? String(path.dropLast(mark.count)) : path
    }
}
