import DefaultsCore
import Glibc
import Linux

/// A program of this project's that the command runs in its own place.
enum SiblingProgram {
    /// Returns the path of a program; `nil` if it isn't installed.
    static func find(_ name: String) -> String? { places(of: name).first(where: Path.isProgram) }

    /// Programs that aren't in the PATH are in libexec; after a build, all are in one directory.
    private static func places(of name: String) -> [String] {
        let directory = Path.directory(of: AppIdentity.current.executable)
        return ["\(Path.directory(of: directory))/libexec/\(name)", "\(directory)/\(name)"]
    }

    /// Runs the program instead of this one, for the same directory and socket.
    ///
    /// - Parameters:
    ///   - name: The program's name.
    ///   - arguments: The arguments after the name.
    ///   - directory: The preferences directory; `nil` for the environment's.
    ///   - socket: The agent's socket; `nil` for the environment's.
    /// - Throws: If it isn't installed, or can't be started.
    static func become(
        _ name: String, with arguments: [String], directory: String?, socket: String?
    ) throws(Failure) -> Never {
        guard let program = find(name) else {
            throw Failure(
                "The program \(name) isn't installed: it is neither \(places(of: name).joined(separator: " nor ")). "
                    + "Run Config/install, which builds it, too.",
                .unavailable)
        }
        if let directory { setenv("DEFAULTS_DIRECTORY", directory, 1) }
        if let socket { setenv("DEFAULTSD_SOCKET", socket, 1) }
        var words = ([name] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        execv(program, &words)
        throw Failure("\(program) can't be started: \(SystemCall.message(errno)).", .unavailable)
    }
}
