import Foundation
package import Glibc
import TestSupport

/// A program that runs while the test goes on, whose lines the test waits for.
package final class RunningProgram {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private var unread: [UInt8] = []

    /// Starts a program, whose input is what `send` gives it, or nothing.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], takesInput: Bool = false
    ) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = takesInput ? input : FileHandle.nullDevice as Any
        process.standardOutput = output
        process.standardError = errors
        // Dispatch blocks signals on its threads, and a program inherits that: it would end by none but SIGKILL.
        var (none, mask) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &mask)
        defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
        try process.run()
    }

    deinit { signal(SIGKILL) }

    package var pid: pid_t { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// Waits for the next line of its output; `nil` when there is none any more, or none in time.
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

    /// Waits for the next line, as an object of JSON.
    package func object() throws -> [String: Any] {
        guard let line = line() else {
            let end = status(within: 1).map { "it ended with \($0)" } ?? "it goes on"
            throw Silence(description: "No line came, \(end): \(complaints())")
        }
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            throw Silence(description: "No object: \(line)")
        }
        return object
    }

    /// The objects up to one of a type, that one included.
    package func objects(upTo type: String) throws -> [[String: Any]] {
        var objects: [[String: Any]] = []
        repeat { objects.append(try object()) } while objects.last?["type"] as? String != type
        return objects
    }

    /// Types a line.
    package func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Waits until it has written a line, past all others.
    package func shows(_ line: String) -> Bool {
        while let next = self.line() {
            if next == line { return true }
        }
        return false
    }

    /// Stops reading, as `head` does when it has seen enough.
    package func closeOutput() throws {
        try output.fileHandleForReading.close()
    }

    /// Sends a signal.
    package func signal(_ number: Int32) {
        if process.isRunning { Glibc.kill(pid, number) }
    }

    /// Waits for its end, and gives the status as the shell shows it; `nil` when it goes on.
    package func status(within seconds: Double = 30) -> Int32? {
        guard eventually(within: seconds, { !process.isRunning }) else { return nil }
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    /// What it wrote to standard error, once it has ended.
    package func complaints() -> String {
        signal(SIGKILL)
        process.waitUntilExit()
        return String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    private struct Silence: Error, CustomStringConvertible {
        let description: String
    }
}
