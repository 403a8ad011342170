import ArgumentParser
import DefaultsCore

/// The program `defaults`, from its arguments to its exit status.
package enum Program {
    /// Turns what goes wrong into one line on standard error and an exit status.
    package static func main() {
        ProcessSetup.run()
        var arguments: [String] = []
        do {
            arguments = try Arguments.prepared(Arguments.ofProcess())
            if let command = QuickCommand(arguments) {
                try command.run()
            } else {
                if Arguments.withoutPlace(arguments).first == "help" { try UnknownVerb.check(arguments) }
                var command = try Defaults.parseAsRoot(arguments)
                try command.run()
            }
        } catch let error as DefaultsError {
            Failure.end(error.description, ExitStatus(error))
        } catch let failure as Failure {
            Failure.end(failure.message, failure.status)
        } catch {
            do throws(Failure) { try UnknownVerb.check(arguments) } catch { Failure.end(error.message, error.status) }
            // Help and versions are wanted, and go to standard output as they are.
            let status = Defaults.exitCode(for: error)
            if status == .success {
                do throws(Failure) { try Arguments.checkWords(arguments) } catch {
                    Failure.end(error.message, error.status)
                }
                let text = Defaults.fullMessage(for: error)
                let isScript = arguments.contains { $0.hasPrefix("--generate-completion-script") }
                show(isScript ? CompletionScript.finished(text) : text)
            }
            if status != .validationFailure { Defaults.exit(withError: error) }
            let verb = UnknownVerb.named(in: arguments)
            let command = verb.map { "help \($0)" } ?? "help"
            var message = UnknownOption.message(Defaults.message(for: error), of: verb)
            if let first = Arguments.withoutPlace(arguments).first, first.hasPrefix("--"), verb != nil,
                message.hasPrefix("Unknown option \"\(first)\"")
            {
                message = "The option \(first) stands before the verb; write it behind it."
            }
            let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
            Failure.end("\(message)\(end) See `defaults \(command)`.", .usage)
        }
    }

    /// Prints what was asked for, and ends the process.
    private static func show(_ text: String) -> Never {
        do throws(Failure) { try StandardOutput.write(text.isEmpty ? "" : text + "\n") } catch {
            Failure.end(error.message, error.status)
        }
        Defaults.exit()
    }
}
