/// The arguments as people write them, brought into the form that the parser takes.
enum Arguments {
    /// Apple's names of the global domain, which look like options or have spaces.
    private static let globalDomain: Set<String> = ["-g", "-globalDomain", "Apple Global Domain"]
    /// The options of `PlaceOptions`, and whether a value follows.
    private static let place = ["--directory": true, "--socket": true, "-host": true, "-currentHost": false]
    /// The options that a value follows, of the commands that have a domain.
    private static let valued: Set<String> = [
        "--since", "--cursor-file", "-n", "--timeout", "--mode", "--color", "--exec",
    ]
    /// The verbs that take several domains.
    private static let plural: Set<String> = ["diff", "sync"]

    /// Names the global domain by its name, and puts the options of the place before the verb.
    ///
    /// Only what comes before the domain is touched: behind it `-g` and `-host` are a key or a value like any other, and
    /// the parser takes all of it as it is, options before the domain of `write` included.
    static func prepared(_ arguments: some Sequence<String>) -> [String] {
        var rest = Array(arguments)[...]
        var placeOptions: [String] = []
        var others: [String] = []
        var hasVerb = false
        var isPlural = false
        while let argument = rest.popFirst() {
            if let hasValue = place[argument], !hasValue || !rest.isEmpty {
                placeOptions.append(argument)
                if hasValue, let value = rest.popFirst() { placeOptions.append(value) }
            } else if argument.hasPrefix("--directory=") || argument.hasPrefix("--socket=") {
                placeOptions.append(argument)
            } else if hasVerb, globalDomain.contains(argument) {
                others.append("NSGlobalDomain")
                if !isPlural { break }
            } else {
                others.append(argument)
                if argument == "--" { break }
                if valued.contains(argument), let value = rest.popFirst() {
                    others.append(value)
                } else if !argument.hasPrefix("-") {
                    if hasVerb, !isPlural { break }
                    if !hasVerb { isPlural = plural.contains(argument) }
                    hasVerb = true
                }
            }
        }
        return placeOptions + others + rest
    }

    /// What is left of prepared arguments without the options of the place, which are first.
    static func withoutPlace(_ arguments: [String]) -> ArraySlice<String> {
        var rest = arguments[...]
        while let argument = rest.first {
            if let hasValue = place[argument] {
                rest = rest.dropFirst(hasValue ? 2 : 1)
            } else if argument.hasPrefix("--directory=") || argument.hasPrefix("--socket=") {
                rest.removeFirst()
            } else {
                break
            }
        }
        return rest
    }

    /// Whether a verb takes several domains.
    static func isPlural(_ verb: String) -> Bool { plural.contains(verb) }

    /// What is no option among the arguments behind a verb.
    static func operands(_ arguments: some Sequence<String>) -> [String] {
        var rest = Array(arguments)[...]
        var operands: [String] = []
        while let argument = rest.popFirst() {
            if valued.contains(argument) {
                _ = rest.popFirst()
            } else if argument == "--" {
                return operands + rest
            } else if !argument.hasPrefix("-") {
                operands.append(argument)
            }
        }
        return operands
    }
}
