import ArgumentParser
import DefaultsCore

/// The command line of `defaults`: Apple's verbs, and our own.
///
/// It is synchronous throughout, so that it starts in a few milliseconds.
@main
struct Defaults: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults",
        abstract: "Reads, writes and follows preferences.",
        discussion: """
            A domain is a name such as org.example.editor; -g, -globalDomain and NSGlobalDomain name the one that every \
            app reads. The command speaks with the agent where one runs, and works on the files where none does.
            """,
        version: "0.1.0 (protocol \(Request.protocolVersion))",
        subcommands: [
            Read.self, ReadType.self, Write.self, Rename.self, Delete.self, DeleteAll.self, Domains.self, Find.self,
            Import.self, Export.self, Convert.self, Diff.self, Edit.self, Explain.self, Tail.self, Status.self,
            Sync.self, PrintHostIdentifier.self,
        ]
    )

    @OptionGroup var place: PlaceOptions

    /// Turns what goes wrong into one line on standard error and an exit status.
    static func main() {
        ProcessSetup.run()
        var arguments: [String] = []
        do {
            arguments = try Arguments.prepared(try Arguments.ofProcess())
            if let read = QuickRead(arguments) {
                try read.run()
            } else {
                if Arguments.withoutPlace(arguments).first == "help" { try UnknownVerb.check(arguments) }
                var command = try parseAsRoot(arguments)
                try command.run()
            }
        } catch let error as DefaultsError {
            Failure.end(error.description, ExitStatus(error))
        } catch let failure as Failure {
            Failure.end(failure.message, failure.status)
        } catch {
            do throws(Failure) { try UnknownVerb.check(arguments) } catch { Failure.end(error.message, error.status) }
            // Help and versions are wanted, and go to standard output as they are.
            let status = exitCode(for: error)
            if status == .success {
                do throws(Failure) { try Arguments.checkWords(arguments) } catch {
                    Failure.end(error.message, error.status)
                }
            }
            if status == .success { show(fullMessage(for: error)) }
            if status != .validationFailure { exit(withError: error) }
            let command = UnknownVerb.named(in: arguments).map { "help \($0)" } ?? "help"
            let message = UnknownOption.message(message(for: error))
            let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
            Failure.end("\(message)\(end) See `defaults \(command)`.", .usage)
        }
    }

    /// Prints what was asked for, and ends the process.
    private static func show(_ text: String) -> Never {
        do throws(Failure) { try StandardOutput.write(text.isEmpty ? "" : text + "\n") } catch {
            Failure.end(error.message, error.status)
        }
        exit()
    }
}
