import Foundation

/// A program that isn't ours, with a script; for what only another process can do to our files.
///
/// The script and the test take turns by lines: `print(..., flush=True)` there, `line()` here.
package final class ForeignProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()

    /// Whether python3 is there, which writes property lists by code that knows nothing of ours.
    package static let hasPython: Bool = (try? ForeignProcess(python: "print('yes')").remainder()) == "yes\n"

    /// Starts python3 with a script; `sys.argv[1:]` are the arguments.
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

    /// Runs a script to its end, and gives what it printed.
    @discardableResult
    package static func run(python script: String, _ arguments: [String] = []) throws -> String {
        try ForeignProcess(python: script, arguments).remainder()
    }

    /// Waits for the next line that the script prints; `nil` when it has ended.
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

    /// Gives the script a line.
    package func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Whether the script hasn't ended yet.
    package var isRunning: Bool { process.isRunning }

    /// Waits for the script's end, and gives what it printed and wasn't read yet.
    @discardableResult
    package func remainder() throws -> String {
        try? input.fileHandleForWriting.close()
        let rest = unread + output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw ScriptFailure(description: "The script ended with \(process.terminationStatus).")
        }
        return String(decoding: rest, as: UTF8.self)
    }

    private struct ScriptFailure: Error, CustomStringConvertible {
        let description: String
    }
}
