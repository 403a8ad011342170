import ArgumentParser
import DefaultsCore

/// The command line of `defaults`: Apple's verbs, and our own.
///
/// It is synchronous throughout, so that it starts in a few milliseconds. Each verb's name is written down: to make it of
/// the type's would take a fifth of that.
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
}
