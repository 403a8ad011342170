import ArgumentParser
import DefaultsCore

/// The command line of `defaults`: Apple's verbs and our own.
///
/// Everything is synchronous, so that the command starts in a few milliseconds. Each verb states its `commandName`,
/// because deriving it from the type's name would take a fifth of that time.
struct Defaults: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults",
        abstract: "Read, write and follow preferences.",
        discussion: """
            A domain is a name such as org.example.editor; -g, -globalDomain and NSGlobalDomain name the global \
            domain, which every app reads. The command uses the agent if one is running; otherwise it works on the \
            files directly.
            """,
        version: Version.description,
        subcommands: [PrintHostIdentifier.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Read and write",
                subcommands: [
                    Read.self, ReadType.self, Write.self, Rename.self, Delete.self, DeleteAll.self, Domains.self,
                    Find.self, Explain.self, Describe.self, Edit.self, Reset.self,
                ]),
            CommandGroup(
                name: "Files",
                subcommands: [Import.self, Export.self, Convert.self, Diff.self, ManifestVerb.self]),
            CommandGroup(
                name: "History", subcommands: [Log.self, Undo.self, Redo.self, Record.self, Apply.self]),
            CommandGroup(name: "Follow", subcommands: [Tail.self, View.self, Fleet.self]),
            CommandGroup(name: "Desktop", subcommands: [GSettingsVerb.self]),
            CommandGroup(name: "Agent", subcommands: [Status.self, Doctor.self, Sync.self, Socket.self, Bridge.self]),
        ]
    )

    @OptionGroup var location: LocationOptions
}
