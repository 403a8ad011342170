import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults diff A B`.
struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Shows in which keys two domains differ, or a domain and a file.",
        discussion: """
            A line is the key, its value in the first, an arrow, its value in the second; (none) is for a key that is not \
            there. With --json it is one object: "changes" is a list of objects with "key", "kind" (added, changed, \
            removed), "old" and "new".

            Either may be a file: a property list in any format, with a "/" in its name or ".plist" at its end, or - for \
            standard input. The exit status is 0 when both are the same, 1 when they differ, and more when they could not \
            be compared.

            EXAMPLES
              defaults diff org.example.editor org.example.editor-beta
              defaults diff org.example.editor ~/backup/org.example.editor.plist
              ssh elsewhere cat editor.plist | defaults diff org.example.editor -
            """)

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Prints JSON.") var json = false
    @Option(help: "Colours: auto, always or never.") var color: ColorChoice = .auto
    @Argument(help: "The first domain or file.", completion: Candidates.domain) var first: String
    @Argument(help: "The second domain or file.", completion: Candidates.domain) var second: String

    func run() throws {
        var backend: (any Backend)?
        func opened() throws -> any Backend {
            let opened = try backend ?? place.open()
            backend = opened
            return opened
        }
        let old = try DiffOperand(first, place, opened)
        let changes = old.changes(to: try DiffOperand(second, place, opened))
        if json {
            try StandardOutput.write(JSONText.object([("changes", ChangeJSON.list(changes))]) + "\n")
        } else {
            let style = ChangeText(isColored: color.isColored())
            try StandardOutput.write(changes.map { style.text($0) + "\n" }.joined())
        }
        if !changes.isEmpty { throw ExitCode(1) }
    }
}
