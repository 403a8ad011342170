import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults edit domain`.
struct Edit: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Opens a domain in your editor, and sets what you changed in it.",
        discussion: """
            The editor is $VISUAL, or else $EDITOR, or else vi. The text is an old-style property list in which numbers, \
            Booleans and dates keep their types: <*I5>, <*R1.5>, <*BY>, <*D2001-01-01 00:00:00 +0000>.

            When the editor ends, the keys that you added, changed or removed are set as one change; all others are left \
            alone, also those that someone else changed meanwhile. Of a key that both changed, your value counts, and you \
            are told. A text that can't be read is told of with its line, to be edited further or given up; then it is \
            kept. When the editor fails, nothing is set.

            EXAMPLES
              defaults edit org.example.editor
              defaults edit --xml -g
              EDITOR='code --wait' defaults edit -currentHost org.example.editor
            """)

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Shows the domain as XML.") var xml = false
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String

    func run() throws {
        try EditSession(place: place.find(domain), options: place, isXML: xml).run()
    }
}
