import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults write domain key value` and `defaults write domain '{…}'`.
struct Write: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Set a key, or replace a domain with a dictionary.",
        usage: """
            defaults write <domain> <key> <value>
            defaults write <domain> <key> -int 5
            defaults write <domain> '{key = value;}'
            defaults write --json <domain> <key> '[1, 2]'
            """,
        discussion: """
            A value is one of -string TEXT, -int N, -float N, -bool true|false|yes|no, -data HEX, \
            -date DATE, -array VALUE…, -array-add VALUE…, -dict KEY VALUE…, -dict-add KEY VALUE…. Arrays and \
            dictionaries take all remaining values, each with or without a type.

            A value without a type is parsed as an old-style or XML property list if it contains brackets or quotes. \
            Otherwise it is a string with escapes such as "\\n" and "\\U00e9"; -string takes any text literally. A \
            DATE is a day with an optional time and zone: 2019-02-19, "2019-02-19 10:10:10", 2019-02-19T10:10:10Z, \
            "2019-02-19 10:10:10 +0100". Without a zone, it is local time.

            With --json, a number changes nothing if it is what a program that holds numbers as 64-bit reals would \
            write for the stored one, such as 2 for 2.0. To change only the type of a number, use -int or -float.

            -flag NAME…, -flag-add NAME… and -flag-remove NAME… set the bits of a whole number, by the names that the \
            domain's manifest gives them.

            \(StrictOption.discussion)

            A linked file, or one named by its path, is not replaced unless it is a property list. With --force, it is \
            replaced, and a backup copy is kept. The last good values that the agent has are saved with the edit.

            \(KeyPathOption.discussion) `write` creates missing dictionaries inside a value, and the next index of an \
            array appends an element.

            EXAMPLES
              defaults write org.example.editor FontSize -int 12
              defaults write org.example.editor Recent -array-add -string ~/notes.txt
              defaults write --key-path org.example.editor Window.Title -string "Main"
              defaults write --json org.example.editor Sizes '[12, 14.5]'
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var path: KeyPathOption
    @OptionGroup var force: ForceOption
    @OptionGroup var strict: StrictOption
    @Flag(help: "Read the value as JSON, as `read --json` prints it.") var json = false
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(parsing: .captureForPassthrough, help: "The key and its value.", completion: Candidates.key)
    var operands: [String] = []

    func run() throws {
        if Self.isHelp(operands) { throw CleanExit.helpRequest(self) }
        if force.isForced { try location.replaceDamage(of: domain) }
        try Self.change(
            domain, WriteOperands(operands, reading: path.reading, isJSON: json), at: location, isJSON: json,
            isStrict: strict.isStrict)
    }

    /// Whether the words after the domain ask for help.
    static func isHelp(_ operands: [String]) -> Bool { operands == ["--help"] || operands == ["-h"] }

    /// Sets one key of a domain, or replaces all keys.
    static func change(
        _ domain: String, _ operands: WriteOperands, at location: some LocationChoice, isJSON: Bool = false,
        isStrict: Bool = false
    ) throws {
        var open = try location.open(domain)
        open.isStrict = isStrict
        switch try operands.namingBits(of: open.location.describedName) {
        case .all(let all):
            let values = try open.valuesToReplace()
            let new = isJSON ? all.preservingNumbers(of: values) : all
            try open.edit(new.mapValues { $0 }, replacesAll: true)
            open.reportTypeChanges(of: new, replacing: values, isText: !isJSON)
        case .key(let key, let new):
            let values = try open.valuesToReplace(of: key.candidates)
            let found = try key.path(in: values)
            if case .set(let value) = new, found.steps.isEmpty {
                try open.edit([found.key: isJSON ? value.preservingNumbers(of: values[found.key]) : value])
                if values[found.key] == nil, let parent = key.missingParent, values[parent] == nil {
                    Failure.report(
                        "\(open.location.subject) has no \"\(parent)\", so a key named \"\(found.key)\" was created. "
                            + "To set a value inside \"\(parent)\", put --key-path before the domain.")
                }
            } else {
                // The suggestion of a similar key needs all of them.
                let isMissing = values[found.key] == nil
                let keys = isMissing ? nil : key.candidates
                let values = try isMissing ? open.backend.snapshot(of: open.domain).values : values
                try open.change(from: values, of: keys) { values in
                    try key.path(in: values).edit(in: values, of: open.location) { old throws(Failure) in
                        let value = try new.applied(to: old, key.text, of: open.location)
                        return isJSON ? value.preservingNumbers(of: old) : value
                    }
                }
            }
        }
    }
}
