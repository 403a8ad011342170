import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults undo`.
struct Undo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo earlier changes.",
        discussion: """
            Undoes the last change set, the one with a number from `defaults log`, the last few (--last), or all \
            since a time (--since), undos and redos included. With --until, newer ones are left alone. Several change \
            sets are undone together, in one edit for each domain, which a single redo reverses. Keys that have \
            changed again since are listed, and keep their values. Without a domain or a number, the agent's own \
            settings stay as they are. The exit status is 1 if any key keeps its value, if a file was changed while no \
            agent was running, or if there is nothing to undo.

            EXAMPLES
              defaults undo
              defaults undo --last 3 org.example.editor
              defaults undo --since 10m --by editor --dry-run
              defaults undo 4711
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var options: UndoOptions

    func run() throws {
        try UndoCommand(location: location, options: options, isRedo: false).run()
    }
}

/// `defaults redo`.
struct Redo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo",
        abstract: "Redo changes that were undone.",
        discussion: """
            Reverses the last undo that hasn't been redone, however old it is, or the ones that you name, in the same \
            way as `defaults undo` undoes changes.

            EXAMPLES
              defaults redo
              defaults redo --since 10m
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var options: UndoOptions

    func run() throws {
        try UndoCommand(location: location, options: options, isRedo: true).run()
    }
}
