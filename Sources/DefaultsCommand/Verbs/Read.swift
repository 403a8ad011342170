import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults read [domain [key]]`.
struct Read: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Print all domains, one domain, or the value of a key.",
        discussion: """
            Prints only the domain itself: your values for any host, or for this host with -currentHost. An app also \
            finds managed values and those for all apps and all users: --effective prints what an app finds, and \
            `defaults explain` shows where a value comes from.

            The output is an old-style property list, which `defaults write` and `defaults import` accept. It shows \
            numbers, dates and Booleans as strings; --json and --plist keep their types. In JSON, data is \
            {"$data": "<base64>"} and a date is {"$date": "<RFC 3339>"}; a dictionary with only the key $data is \
            {"$$data": …}.

            \(KeyPathOption.discussion)

            EXAMPLES
              defaults read org.example.editor
              defaults read -g AppleLanguages.0
              defaults read --effective org.example.editor FontSize
              defaults read org.example.editor theme --at yesterday
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var format: ValueFormat
    @OptionGroup var path: KeyPathOption
    @Flag(help: "Print the values that an app of that name finds in all layers.") var effective = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Print the values at this time, number or cursor.", valueName: "time"),
        transform: HistoryPoint.init(typed:))
    var at: HistoryPoint?
    @Argument(
        help: "The domain, or the path of a file. Without it, all domains are printed.",
        completion: Candidates.domain)
    var domain: String?
    @Argument(
        help: "The key, or a path into its value. Without it, all keys are printed.", completion: Candidates.key)
    var key: String?

    func run() throws {
        guard let domain else {
            if effective { throw Failure("--effective needs the domain of an app.", .usage) }
            if at != nil { throw Failure("--at needs a domain.", .usage) }
            return try showAll()
        }
        if let at {
            if effective { throw Failure("Use only one of --effective and --at.", .usage) }
            let open = try location.open(domain)
            let past = try PastDomain(open, at: at, location)
            let path = try key.map(path.key)?.path(in: past.values)
            if past.isUnknown { throw NotFound.domain(open, consequence: ", and the history has no change to it") }
            let isUncertain = past.report(about: path?.key)
            let value = try path?.value(in: past.values, of: open.location) ?? .dictionary(past.values)
            try format.output.show(value)
            if isUncertain { throw ExitCode(ExitStatus.dataError.rawValue) }
            return
        }
        try Self.show(domain, key.map(path.key), at: location, as: format.output, isEffective: effective)
    }

    /// Prints a domain, or the value of a key.
    static func show(
        _ domain: String, _ key: KeyText?, at location: some LocationChoice, as output: ValueOutput,
        isEffective: Bool = false
    ) throws {
        let open = try location.open(domain)
        guard let key else {
            return try output.show(.dictionary(isEffective ? open.effectiveValues() : open.values()))
        }
        let values = try isEffective ? open.effectiveValues() : open.values(for: key)
        try output.show(try key.path(in: values).value(in: values, of: open.location))
    }

    private func showAll() throws {
        let survey = try AllDomains(location)
        var all: DomainValues = [:]
        var isComplete = true
        let globals = survey.domains.filter(\.domain.name.isGlobal)
        for entry in globals + survey.domains.filter({ !$0.domain.name.isGlobal }) {
            // File names are bytes, but dictionary keys compare as text: two names may be canonically equivalent.
            if all[entry.title] == nil {
                all[entry.title] = .dictionary(entry.values)
            } else {
                isComplete = false
                Failure.report(
                    "Another domain named \(entry.title) is left out: the output can hold each name only once.")
            }
        }
        try format.output.show(.dictionary(all))
        if !isComplete { throw ExitCode(ExitStatus.dataError.rawValue) }
        try survey.finish()
    }
}
