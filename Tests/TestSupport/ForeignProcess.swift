/// A Python script in a separate process, for tests that need another process to act on our files.
///
/// The script and the test alternate line by line: the script calls `print(..., flush=True)`, and the test calls
/// `line()`.
package final class ForeignProcess {
    private let program: RunningProgram

    /// Whether python3 is installed.
    ///
    /// Its property list code is independent of ours.
    package static let hasPython: Bool = (try? ForeignProcess(python: "print('yes')").remainder()) == "yes\n"

    /// Starts python3 with a script.
    ///
    /// `sys.argv[1:]` holds the arguments.
    package init(python script: String, _ arguments: [String] = []) throws {
        program = try RunningProgram("python3", ["-c", script] + arguments, takesInput: true, showsErrors: true)
    }

    /// Runs a script to completion and returns its output.
    @discardableResult
    package static func run(python script: String, _ arguments: [String] = []) throws -> String {
        try ForeignProcess(python: script, arguments).remainder()
    }

    /// Waits for the next line of the script's output.
    ///
    /// Returns `nil` when the output has ended.
    package func line() -> String? { program.line(within: 300) }

    /// Sends a line to the script's standard input.
    package func send(_ line: String) throws { try program.send(line) }

    /// Whether the script is still running.
    package var isRunning: Bool { program.isRunning }

    /// Waits for the script to exit and returns its unread output.
    @discardableResult
    package func remainder() throws -> String {
        let outcome = try program.finish()
        guard outcome.status == 0 else {
            throw ScriptFailure(description: "The script exited with status \(outcome.status).")
        }
        return outcome.output
    }

    private struct ScriptFailure: Error, CustomStringConvertible {
        let description: String
    }
}
