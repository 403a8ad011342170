import Glibc
import TestSupport

/// A child process that communicates line by line.
final class ChildLines {
    private let program: RunningProgram

    /// Starts a program from this program's directory.
    convenience init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
        try self.init(at: BenchEnvironment.beside(program), arguments, environment: environment)
    }

    /// Starts a program.
    init(at path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        program = try RunningProgram(
            path, arguments, environment: environment, takesInput: true, showsErrors: true)
    }

    var pid: pid_t { program.pid }

    /// Sends a line.
    func send(_ line: String) throws { try program.send(line) }

    /// Returns the next line, or `nil` after a timeout or if the process has exited.
    func line(within milliseconds: Int) -> String? { program.line(within: Double(milliseconds) / 1_000) }

    /// Ends the process as a service manager does; after 30 seconds, as a crash does.
    func terminate() {
        program.signal(SIGTERM)
        if program.status() == nil { kill() }
    }

    /// Ends the process as a crash does.
    func kill() { program.kill() }

    /// Prints a line to standard error.
    static func complain(_ line: String) {
        let bytes = Array("defaults-bench: \(line)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Prints a line to standard output immediately, for the parent process.
    static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
