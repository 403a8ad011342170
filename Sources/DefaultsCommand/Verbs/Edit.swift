import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults edit domain`.
struct Edit: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Edit a domain in your editor.",
        discussion: """
            The editor is $VISUAL, then $EDITOR, then vi. The text is an old-style property list in which numbers, \
            Booleans and dates keep their types: <*I5>, <*R1.5>, <*BY>, <*D2001-01-01 00:00:00 +0000>.

            When you quit the editor, the keys that you added, changed or removed are saved as one change. Other keys \
            keep their current values. If another program changed a key that you changed, your value wins, and a \
            message says so. If the text can't be parsed, you can edit it again or quit; the text is then kept. If the \
            editor fails, nothing is changed. An editor that ends before you close its window needs an option to wait.

            \(StrictOption.discussion)

            EXAMPLES
              defaults edit org.example.editor
              defaults edit --xml -g
              EDITOR='code --wait' defaults edit -currentHost org.example.editor
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var strict: StrictOption
    @Flag(help: "Edit the domain as XML.") var xml = false
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String

    func run() throws {
        try EditorSession(location: location.find(domain), options: location, isXML: xml, isStrict: strict.isStrict)
            .run()
    }
}
