import Glibc

/// The programs that the tests run.
package enum Programs {
    /// The exit status of a program, as a shell reports it, and its output.
    package struct Outcome {
        package var status: Int32
        package var output: String
        package var errors: String
    }

    /// Returns whether a program is in the PATH.
    package static func isInstalled(_ name: String) -> Bool {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// Runs a program to completion.
    @discardableResult
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String = ""
    ) throws -> Outcome {
        try RunningProgram(program, arguments, environment: environment, takesInput: true).finish(input)
    }

    /// Runs a shell script in a directory, with the system's tools.
    @discardableResult
    package static func shell(
        _ script: String, in directory: String, environment: [String: String] = [:]
    ) throws -> Outcome {
        try run("/bin/sh", ["-ec", "cd '\(directory)'\n\(script)"], environment: environment)
    }
}
