import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults read [domain [key]]`.
struct Read: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Prints all domains, a domain, or the value of a key.",
        discussion: """
            What is printed is the domain alone: what was set for you on any host, or on one with -currentHost. An app \
            finds managed values first, and those for all apps and all users as well: --effective prints them all, and \
            `defaults explain` shows where one comes from.

            The text is an old-style property list, which `defaults write` and `defaults import` take again; numbers, \
            dates and truth values are strings in it, and --json and --plist keep their types. In JSON data is \
            {"$data": base64}, a date {"$date": RFC 3339}.

            \(KeyPathOption.discussion)

            EXAMPLES
              defaults read org.example.editor
              defaults read -g AppleLanguages.0
              defaults read --effective org.example.editor FontSize
              defaults read ~/Downloads/settings.plist --json
            """)

    @OptionGroup var place: PlaceOptions
    @OptionGroup var format: ValueFormat
    @OptionGroup var path: KeyPathOption
    @Flag(help: "Prints the values that an app of that name finds, from all layers.") var effective = false
    @Argument(
        help: "The domain, or the path of a file; all domains when it is left out.", completion: Candidates.domain)
    var domain: String?
    @Argument(help: "The key, or a path into its value; all keys when it is left out.", completion: Candidates.key)
    var key: String?

    func run() throws {
        guard let domain else {
            if effective { throw Failure("--effective needs a domain: the name of the app that searches.", .usage) }
            return try showAll()
        }
        try Self.show(domain, key.map(path.key), place, format.output, isEffective: effective)
    }

    /// Prints a domain, or the value of a key.
    static func show(
        _ domain: String, _ key: KeyText?, _ place: some PlaceChoice, _ output: ValueOutput, isEffective: Bool = false
    ) throws {
        let open = try place.open(domain)
        let values = try isEffective ? open.effectiveValues() : open.values()
        guard let key else { return try output.show(.dictionary(values)) }
        try output.show(try key.path(in: values).value(in: values, of: open.place))
    }

    private func showAll() throws {
        let survey = try Survey(place)
        var all: DomainValues = [:]
        var isComplete = true
        let globals = survey.domains.filter(\.domain.name.isGlobal)
        for entry in globals + survey.domains.filter({ !$0.domain.name.isGlobal }) {
            // Files have names of bytes, and a dictionary's keys are text: two names may be the same text.
            if all[entry.title] == nil {
                all[entry.title] = .dictionary(entry.values)
            } else {
                isComplete = false
                Failure.note(
                    "Another domain with the name \(entry.title) is left out: what is printed has a name once.")
            }
        }
        try format.output.show(.dictionary(all))
        if !isComplete { throw ExitCode(ExitStatus.dataError.rawValue) }
        try survey.finish()
    }
}
