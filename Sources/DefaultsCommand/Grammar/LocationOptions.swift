import ArgumentParser
import DefaultsClient
import DefaultsCore

/// The options that choose a directory, an agent and a host.
struct LocationOptions: ParsableArguments, LocationChoice {
    @Option(
        help: "The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.",
        completion: .directory)
    var directory: String?

    @Option(help: "The agent's socket, instead of DEFAULTSD_SOCKET or the default path.", completion: .file())
    var socket: String?

    @Flag(
        name: .customLong("currentHost", withSingleDash: true), help: "Use only preferences for this host.")
    var currentHost = false

    @Option(
        name: .customLong("host", withSingleDash: true),
        help: "Use only preferences for the host with this identifier.")
    var host: String?

    // For help and completion only: `Arguments` replaces -app with the domain before the parser runs.
    @Option(
        name: .customLong("app", withSingleDash: true),
        help: "Use the domain of an application, given its name, desktop file or executable.",
        completion: Candidates.application)
    var app: String?
}

/// The location options, read without the parser.
struct LocationArguments: LocationChoice {
    var directory: String?
    var socket: String?
    var currentHost = false
    var host: String?

    /// Reads the location options at the start of prepared arguments.
    ///
    /// Fails if they are incomplete; the parser then reports the error.
    init?(_ options: ArraySlice<String>) {
        var rest = options
        while let option = rest.popFirst() {
            if option == "-currentHost" {
                currentHost = true
                continue
            }
            let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            // As in the parser, a word that begins with a dash is an option, so the option before it has no value.
            let value = parts.count == 2 ? String(parts[1]) : rest.popFirst().flatMap { $0.hasPrefix("-") ? nil : $0 }
            guard let value else { return nil }
            switch parts[0] {
            case "--directory": directory = value
            case "--socket": socket = value
            case "-host": host = value
            default: return nil
            }
        }
    }
}

/// The option to replace a file that may not be meant for preferences.
struct ForceOption: ParsableArguments {
    @Flag(
        name: .customLong("force"),
        help: "Replace a linked file, or one named by its path, that isn't a property list; a copy is kept.")
    var isForced = false
}

/// The option to refuse edits that break a manifest.
struct StrictOption: ParsableArguments {
    @Flag(name: .customLong("strict"), help: "Change nothing if a value breaks the domain's manifest.")
    var isStrict = false

    /// The paragraph about manifests in the help of verbs that edit.
    static let discussion = """
        If the domain has a manifest, a message names each value that breaks it, and each key that it doesn't \
        describe; with --strict, nothing is changed then. `describe` shows what is allowed.
        """
}

extension LocationChoice {
    /// Replaces a domain's file with its last good values, if there are any, unless it is a property list.
    ///
    /// A backup copy of the file is saved first. Returns when the agent has reloaded the file.
    func replaceDamage(of argument: String) throws {
        let open = try open(argument)
        let directory = try directory(of: open.location)
        let file = DomainFile(path: directory.path(of: open.domain))
        let time = Timestamp.now()
        let values = try open.backend.snapshot(of: open.domain).values
        guard let copy = try file.replaceDamage(with: values, of: time, in: directory) else { return }
        Failure.report("\(file.path) was not a property list. Its contents were saved to \(copy).")
        try open.backend.synchronize(open.domain)
    }
}

/// The options to treat a key as a path, or not to.
struct KeyPathOption: ParsableArguments {
    @Flag(
        name: .customLong("key-path"),
        help: "Always treat the key as a path, whether or not it leads to a value.")
    var isPath = false
    @Flag(name: .customLong("literal-key"), help: "Treat the key as literal text, with dots and backslashes.")
    var isLiteral = false

    func validate() throws {
        if isPath, isLiteral { throw ValidationError("Use only one of --key-path and --literal-key.") }
    }

    /// The paragraph about paths in the help of every verb that takes a key.
    static let discussion = """
        A key that exists is taken literally, including dots. Otherwise, if the text before a dot is the key of an \
        array or dictionary, the rest is a path into it: dictionary keys and array indexes, as in "Windows.0.Title". \
        In a path, write "\\." for a dot that is part of a key and "\\\\" for a backslash. In a script, \
        use --literal-key or --key-path to say which one is meant.
        """

    /// The way to read the key that the options choose.
    var reading: KeyText.Reading { isLiteral ? .literal : isPath ? .path : .either }

    /// Returns a typed key, read as the options say.
    func key(_ text: String) -> KeyText { KeyText(text: text, reading: reading) }
}

extension SubscriptionFilter {
    /// Returns the filter for a domain and keys as typed.
    ///
    /// Without wildcards, the text names one domain, as with other verbs. A pattern may be any text.
    static func named(_ domain: String?, _ keys: [String]) throws(DefaultsError) -> SubscriptionFilter {
        var domain = domain
        if let name = domain, !name.contains(where: { "*?\\".contains($0) }) {
            domain = name.isEmpty ? try DomainName(name).description : DomainName(escaping: name).description
        }
        return SubscriptionFilter(
            domains: domain.map { [GlobPattern($0)] } ?? [], keys: keys.map { GlobPattern($0) })
    }
}
