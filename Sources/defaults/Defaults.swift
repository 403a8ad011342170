import ArgumentParser
import DefaultsCore

/// The command line of `defaults`: Apple's verbs, and `tail` and `status`.
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
            Read.self, Write.self, Delete.self, Domains.self, Tail.self, Status.self, Explain.self, Diff.self,
            Edit.self,
            Convert.self, Sync.self,
        ]
    )

    @OptionGroup var place: PlaceOptions

    /// Turns what goes wrong into one line on standard error and an exit status.
    static func main() {
        do {
            let arguments = Arguments.prepared(CommandLine.arguments.dropFirst())
            try UnknownVerb.check(arguments)
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch let error as DefaultsError {
            Failure.end(error.description, ExitStatus(error))
        } catch let failure as Failure {
            Failure.end(failure.message, failure.status)
        } catch {
            exit(withError: error)
        }
    }
}
