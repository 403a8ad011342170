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
            """,
        discussion: """
            A value is one of -string TEXT, -int N, -float N, -bool true|false|yes|no, -data HEX, \
            -date "YYYY-MM-DD HH:MM:SS +ZZZZ", -array VALUE…, -array-add VALUE…, -dict KEY VALUE…, -dict-add KEY VALUE…; \
            those that take several come last, and their values may have types too. A value without a type is a property \
            list if it has brackets or quotes, old-style or XML, and else a string, in which "\\n", "\\U00e9" and the like \
            are escapes; -string takes any text as it is.

            A linked file, or one named by its path, is not replaced unless it is a property list. With --force, a copy \
            is kept and the file is replaced.

            \(KeyPathOption.discussion) A path may go on past what is there: dictionaries are made, and an array's next \
            index adds an element.

            EXAMPLES
              defaults write org.example.editor FontSize -int 12
              defaults write org.example.editor Recent -array-add ~/notes.txt
              defaults write org.example.editor Windows.0.Title "Main window"
            """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var path: KeyPathOption
    @OptionGroup var force: ForceOption
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(parsing: .captureForPassthrough, help: "The key and its value.", completion: Candidates.key)
    var operands: [String] = []

    func run() throws {
        if Self.isHelp(operands) { throw CleanExit.helpRequest(self) }
        if force.isForced { try place.replaceDamage(of: domain) }
        try Self.change(domain, operands, isPath: path.isPath, place)
    }

    /// Whether what is behind the domain asks for help.
    static func isHelp(_ operands: [String]) -> Bool { operands == ["--help"] || operands == ["-h"] }

    /// Sets a key of a domain, or all.
    static func change(_ domain: String, _ operands: [String], isPath: Bool, _ place: some PlaceChoice) throws {
        let operands = try WriteOperands(operands, isPath: isPath)
        let open = try place.open(domain)
        let values = try open.valuesToReplace()
        switch operands {
        case .all(let values): try open.edit(values.mapValues { $0 }, replacesAll: true)
        case .key(let key, let new):
            let found = try key.path(in: values)
            if case .set(let value) = new, found.steps.isEmpty {
                try open.edit([found.key: value])
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
