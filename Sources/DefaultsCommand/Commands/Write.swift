import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults write domain key value` and `defaults write domain '{…}'`.
struct Write: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Sets a key, or with a dictionary alone all keys of a domain.",
        usage: """
            defaults write <domain> <key> <value>
            defaults write <domain> <key> -int 5
            defaults write <domain> '{key = value;}'
            defaults write --json <domain> <key> '[1, 2]'
            """,
        discussion: """
            A value is one of -string TEXT, -int N, -float N, -bool true|false|yes|no, -data HEX, \
            -date DATE, -array VALUE…, -array-add VALUE…, -dict KEY VALUE…, -dict-add KEY VALUE…; \
            those that take several come last, and their values may have types too. A value without a type is a property \
            list if it has brackets or quotes, old-style or XML, and else a string, in which "\\n", "\\U00e9" and the like \
            are escapes; -string takes any text as it is. A DATE is a day such as 2019-02-19, with or without a time of day and \
            a zone: "2019-02-19 10:10:10", 2019-02-19T10:10:10Z, "2019-02-19 10:10:10 +0100". Without a zone, it is local time.

            A linked file, or one named by its path, is not replaced unless it is a property list. With --force, a copy \
            is kept and the file is replaced.

            \(KeyPathOption.discussion) A path may go on past what is there: dictionaries are made, and an array's next \
            index adds an element.

            EXAMPLES
              defaults write org.example.editor FontSize -int 12
              defaults write org.example.editor Recent -array-add -string ~/notes.txt
              defaults write --key-path org.example.editor Window.Title -string "Main"
              defaults write --json org.example.editor Sizes '[12, 14.5]'
            """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var path: KeyPathOption
    @OptionGroup var force: ForceOption
    @Flag(help: "Takes the value as JSON, such as `read --json` prints.") var json = false
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(parsing: .captureForPassthrough, help: "The key and its value.", completion: Candidates.key)
    var operands: [String] = []

    func run() throws {
        if Self.isHelp(operands) { throw CleanExit.helpRequest(self) }
        if force.isForced { try place.replaceDamage(of: domain) }
        let isPath = path.isPath
        let operands =
            try json
            ? WriteOperands(json: operands, isPath: isPath) : WriteOperands(operands, isPath: isPath)
        try Self.change(domain, operands, place)
    }

    /// Whether what is behind the domain asks for help.
    static func isHelp(_ operands: [String]) -> Bool { operands == ["--help"] || operands == ["-h"] }

    /// Sets a key of a domain, or all.
    static func change(_ domain: String, _ operands: WriteOperands, _ place: some PlaceChoice) throws {
        let open = try place.open(domain)
        let values = try open.valuesToReplace()
        switch operands {
        case .all(let values): try open.edit(values.mapValues { $0 }, replacesAll: true)
        case .key(let key, let new):
            let found = try key.path(in: values)
            if case .set(let value) = new, found.steps.isEmpty {
                try open.edit([found.key: value])
                if values[found.key] == nil, let parent = key.missingParent {
                    Failure.note(
                        "\(open.place.subject) has no \"\(parent)\", so a key named \"\(found.key)\" was made. To set a "
                            + "value inside \"\(parent)\", write --key-path before the domain.")
                }
            } else {
                try open.change(from: values) { values in
                    try key.path(in: values).edit(in: values, of: open.place) { old throws(Failure) in
                        try new.applied(to: old, key.text, of: open.place)
                    }
                }
            }
        }
    }
}
