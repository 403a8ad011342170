import Foundation
import Glibc

/// A child process that communicates line by line.
final class ChildLines {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread: [UInt8] = []

    /// Starts a program from this program's directory.
    convenience init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
        try self.init(at: BenchEnvironment.beside(program), arguments, environment: environment)
    }

    /// Starts a program.
    init(at path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit { kill() }

    var pid: pid_t { process.processIdentifier }

    /// Sends a line.
    func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Returns the next line, or `nil` after a timeout or if the process has exited.
    func line(within milliseconds: Int32) -> String? {
        let descriptor = output.fileHandleForReading.fileDescriptor
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, milliseconds) == 1 else { return nil }
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return nil }
            unread += buffer[..<count]
        }
    }

    /// Ends the process as a service manager does; after 30 seconds, as a crash does.
    func terminate() {
        guard process.isRunning else { return }
        Glibc.kill(pid, SIGTERM)
        if !eventually(within: 30, { !process.isRunning }) { kill() }
    }

    /// Ends the process as a crash does.
    func kill() {
        guard process.isRunning else { return }
        Glibc.kill(pid, SIGKILL)
        process.waitUntilExit()
    }

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
