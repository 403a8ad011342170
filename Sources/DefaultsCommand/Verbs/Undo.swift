import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults undo`.
struct Undo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Take back earlier changes.",
        discussion: """
            Takes back the last change set, or those that are named: by number (see `defaults log`), by count, or by \
            time. Each change set is taken back as a whole, except for keys that have been changed again since. Those \
            are listed, and keep their values. The exit status is 1 if any key keeps its value, or if there is \
            nothing to take back.

            EXAMPLES
              defaults undo
              defaults undo --last 3 org.example.editor
              defaults undo --since 10m --by editor --dry-run
              defaults undo 4711
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var options: UndoOptions
    @Argument(
        help: "A number from `defaults log`, or a domain (default: all domains) and keys.",
        completion: Candidates.domain)
    var operands: [String] = []

    func validate() throws { try options.validate(operands) }

    func run() throws {
        try UndoCommand(location: location, options: options, operands: operands, isRedo: false).run()
    }
}

/// `defaults redo`.
struct Redo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo",
        abstract: "Make changes again that `undo` took back.",
        discussion: """
            Takes back the last undo, or those that are named, as `defaults undo` takes back changes.

            EXAMPLES
              defaults redo
              defaults redo --since 10m
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var options: UndoOptions
    @Argument(
        help: "A number from `defaults log`, or a domain (default: all domains) and keys.",
        completion: Candidates.domain)
    var operands: [String] = []

    func validate() throws { try options.validate(operands) }

    func run() throws {
        try UndoCommand(location: location, options: options, operands: operands, isRedo: true).run()
    }
}
