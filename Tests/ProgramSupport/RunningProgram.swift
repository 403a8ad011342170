import Foundation
package import Glibc
import TestSupport

/// A program that runs alongside the test, and whose output the test reads line by line.
package final class RunningProgram {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private var unread: [UInt8] = []

    /// Starts a program.
    ///
    /// Its standard input is empty unless `takesInput`, which lets `send` write to it.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], takesInput: Bool = false
    ) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = takesInput ? input : FileHandle.nullDevice as Any
        process.standardOutput = output
        process.standardError = errors
        // Dispatch blocks signals on its threads, and child processes inherit the mask: only SIGKILL would end them.
        var (none, mask) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &mask)
        defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
        try process.run()
    }

    deinit { signal(SIGKILL) }

    package var pid: pid_t { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// Waits for the next line of output.
    ///
    /// Returns `nil` at the end of the output or after a timeout.
    package func line(within seconds: Double = 30) -> String? {
        let descriptor = output.fileHandleForReading.fileDescriptor
        let deadline = ContinuousClock.now + .seconds(seconds)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let end = unread.firstIndex(of: 0x0A) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let left = (deadline - .now) / .milliseconds(1)
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&waiting, 1, Int32(left.rounded(.up))) == 1 else { return nil }
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return nil }
            unread += buffer[..<count]
        }
    }

    /// Waits for the next line and checks that it is the expected line.
    ///
    /// - Throws: An error that quotes the program's standard error, which may explain the difference.
    package func expect(_ line: String) throws {
        let next = self.line()
        if next == line { return }
        throw UnexpectedOutput(description: "\(next ?? "No line") instead of \(line). Standard error: \(complaints())")
    }

    /// Waits for the next line and parses it as a JSON object.
    package func object() throws -> [String: Any] {
        guard let line = line() else {
            let end = status(within: 1).map { "it ended with status \($0)" } ?? "it is still running"
            throw UnexpectedOutput(description: "No line arrived, \(end): \(complaints())")
        }
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw UnexpectedOutput(description: "Not a JSON object: \(line)")
        }
        return object
    }

    /// Returns the objects up to and including the first one of a type.
    package func objects(upTo type: String) throws -> [[String: Any]] {
        var objects: [[String: Any]] = []
        repeat { objects.append(try object()) } while objects.last?["type"] as? String != type
        return objects
    }

    /// Writes a line to the program's standard input.
    package func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Skips output lines up to a given line.
    ///
    /// Returns whether it appeared.
    package func shows(_ line: String) -> Bool {
        while let next = self.line() {
            if next == line { return true }
        }
        return false
    }

    /// Closes the reading end of the output, as `head` does when it has seen enough.
    package func closeOutput() throws {
        try output.fileHandleForReading.close()
    }

    /// Sends a signal.
    package func signal(_ number: Int32) {
        if process.isRunning { Glibc.kill(pid, number) }
    }

    /// Waits for the program to exit.
    ///
    /// Returns the status as the shell reports it, or `nil` after a timeout.
    package func status(within seconds: Double = 30) -> Int32? {
        guard eventually(within: seconds, { !process.isRunning }) else { return nil }
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    /// Ends the program and returns its standard error.
    package func complaints() -> String {
        signal(SIGKILL)
        process.waitUntilExit()
        return String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    private struct UnexpectedOutput: Error, CustomStringConvertible {
        let description: String
    }
}
