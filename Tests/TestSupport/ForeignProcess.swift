import Foundation

/// A Python script in a separate process, for tests that need another process to act on our files.
///
/// The script and the test alternate line by line: the script calls `print(..., flush=True)`, and the test calls
/// `line()`.
package final class ForeignProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()

    /// Whether python3 is installed.
    ///
    /// Its property list code is independent of ours.
    package static let hasPython: Bool = (try? ForeignProcess(python: "print('yes')").remainder()) == "yes\n"

    /// Starts python3 with a script.
    ///
    /// `sys.argv[1:]` holds the arguments.
    package init(python script: String, _ arguments: [String] = []) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script] + arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Runs a script to completion and returns its output.
    @discardableResult
    package static func run(python script: String, _ arguments: [String] = []) throws -> String {
        try ForeignProcess(python: script, arguments).remainder()
    }

    /// Waits for the next line of the script's output.
    ///
    /// Returns `nil` when the output has ended.
    package func line() -> String? {
        while true {
            if let end = unread.firstIndex(of: 0x0A) {
                let line = unread[unread.startIndex..<end]
                unread = Data(unread[unread.index(after: end)...])
                return String(decoding: line, as: UTF8.self)
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            unread.append(more)
        }
    }

    /// Sends a line to the script's standard input.
    package func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Whether the script is still running.
    package var isRunning: Bool { process.isRunning }

    /// Waits for the script to exit and returns its unread output.
    @discardableResult
    package func remainder() throws -> String {
        try? input.fileHandleForWriting.close()
        let rest = unread + output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ScriptFailure(description: "The script exited with status \(process.terminationStatus).")
        }
        return String(decoding: rest, as: UTF8.self)
    }

    private struct ScriptFailure: Error, CustomStringConvertible {
        let description: String
    }
}
