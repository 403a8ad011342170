import ArgumentParser
import DefaultsCore

/// The program `defaults`, from its arguments to its exit status.
package enum Program {
    /// Runs the command, and turns any error into one line on standard error and an exit status.
    package static func main() {
        ProcessSetup.run()
        var arguments: [String] = []
        do {
            arguments = try Arguments.prepared(Arguments.ofProcess())
            if let command = QuickCommand(arguments) {
                try command.run()
            } else {
                try UnknownArgument.check(arguments)
                var command = try Defaults.parseAsRoot(arguments)
                try command.run()
            }
        } catch let error as DefaultsError {
            Failure.end(error.description, ExitStatus(error))
        } catch let failure as Failure {
            Failure.end(failure.message, failure.status)
        } catch {
            // The parser reports help and version requests as errors; their text goes to standard output.
            let status = Defaults.exitCode(for: error)
            if status == .success {
                let text = Defaults.fullMessage(for: error)
                let isScript = arguments.contains { $0.hasPrefix("--generate-completion-script") }
                show(isScript ? CompletionScript.finished(text) : text)
            }
            if status != .validationFailure { Defaults.exit(withError: error) }
            let verb = Arguments.withoutLocation(arguments).first.flatMap { OptionTable.verb(named: $0)?.names[0] }
            let message = Defaults.message(for: error)
            let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
            Failure.end("\(message)\(end) See `defaults \(verb.map { "help \($0)" } ?? "help")`.", .usage)
        }
    }

    /// Prints text that the user requested, such as help, and ends the process.
    private static func show(_ text: String) -> Never {
        do throws(Failure) { try StandardOutput.write(text.isEmpty ? "" : text + "\n") } catch {
            Failure.end(error.message, error.status)
        }
        Defaults.exit()
    }
}
