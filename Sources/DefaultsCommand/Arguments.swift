import DefaultsCore

/// The arguments as people write them, brought into the form that the parser takes.
package enum Arguments {
    /// Apple's names of the global domain, which look like options or have spaces.
    private static let globalDomain = ["-g", "-globalDomain", "Apple Global Domain"]
    /// The options of `PlaceOptions` that may stand anywhere before the domain, and that a value follows.
    private static let place = ["--directory", "--socket", "-host"]
    /// The options that a value follows, of the commands that have a domain.
    private static let valued = [
        "--since", "--cursor-file", "-n", "--timeout", "--mode", "--color", "--exec", "--plist", "--to",
    ]
    /// The verbs that take several domains.
    private static let plural = ["diff", "sync"]
    /// The verbs that take none.
    private static let withoutDomain = ["domains", "find", "convert", "status", "help"]

    /// The arguments that this process was given, without its name.
    ///
    /// Those that aren't UTF-8, for which Swift would silently have other text, are `ByteArgument`s.
    static func ofProcess() -> [String] {
        (1..<max(Int(CommandLine.argc), 1)).compactMap { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) ?? ByteArgument.text(for: $0, at: index) }
        }
    }

    /// Names the global domain and that of an application by their names, puts the options of the place before the verb,
    /// and writes the verb in lower case.
    ///
    /// Only what comes before the domain is touched: behind it `-g` and `-host` are a key or a value like any other.
    ///
    /// - Throws: when an application is named that isn't there, or an argument isn't UTF-8 that must be.
    package static func prepared(_ arguments: some Sequence<String>) throws(Failure) -> [String] {
        var rest = Array(arguments)[...]
        var placeOptions: [String] = []
        var others: [String] = []
        var verb: String?
        // What is the verb's, and stands before it.
        var early: [String] = []
        // Named by an option before the verb.
        var domain: String?
        while let argument = rest.popFirst() {
            if place.contains(argument), let value = rest.popFirst() {
                placeOptions += [argument, value]
            } else if argument == "-currentHost" || argument.hasPrefix("--directory=")
                || argument.hasPrefix("--socket=")
            {
                placeOptions.append(argument)
            } else if argument == "-app", let name = rest.popFirst() {
                let application = try Application(named: name, .current).domain
                if let verb, isPlural(verb) {
                    others.append(application)
                } else {
                    domain = application
                    if verb != nil { break }
                }
            } else if globalDomain.contains(argument), takesDomain(verb) {
                if let verb {
                    others.append("NSGlobalDomain")
                    if !isPlural(verb) { break }
                } else {
                    domain = "NSGlobalDomain"
                }
            } else if verb == nil, argument == "--key-path" {
                early.append(argument)
            } else if argument.hasPrefix("-"), argument != "-", argument != "--" {
                others.append(argument)
                if valued.contains(argument), let value = rest.popFirst() { others.append(value) }
            } else if verb == nil, argument != "--" {
                let name = argument.lowercased()
                others.append(name)
                others += early
                verb = name
                if isPlural(name), let first = domain {
                    others.append(first)
                    domain = nil
                }
            } else if let verb, isPlural(verb), argument != "--" {
                others.append(argument)
            } else {
                rest = [argument] + rest
                break
            }
        }
        if let domain {
            if let verb, !takesDomain(verb) {
                throw Failure("`\(verb)` takes no domain, and \(domain) was named before it.", .usage)
            }
            others.append(domain)
        }
        let prepared = placeOptions + others + rest
        try ByteArgument.check(prepared)
        return prepared
    }

    /// What is left of prepared arguments without the options of the place, which are first.
    static func withoutPlace(_ arguments: [String]) -> ArraySlice<String> {
        var rest = arguments[...]
        while let argument = rest.first {
            if place.contains(argument) {
                rest = rest.dropFirst(2)
            } else if argument == "-currentHost" || argument.hasPrefix("--directory=")
                || argument.hasPrefix("--socket=")
            {
                rest.removeFirst()
            } else {
                break
            }
        }
        return rest
    }

    /// Looks for a word behind one dash that is no option, which the parser takes for letters, and its "h" for a wish for
    /// help.
    static func checkWords(_ arguments: [String]) throws(Failure) {
        let asked = ["-h", "-help", "--help", "help", "--version", "---completion"]
        let known = ["-host", "-currentHost", "-app", "-globalDomain"]
        let misspelt = arguments.first {
            $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.utf8.count > 2 && !known.contains($0)
        }
        guard let misspelt, !arguments.contains(where: asked.contains) else { return }
        throw Failure(UnknownOption.message(misspelt, among: known, of: nil) + " See `defaults help`.", .usage)
    }

    /// Whether a word is an option that belongs before the domain.
    static func isOfPlace(_ word: String) -> Bool {
        (place + ["-currentHost", "-app", "--key-path"]).contains { word == $0 || word.hasPrefix("\($0)=") }
    }

    /// Whether a verb takes a domain; so does what is no verb.
    static func takesDomain(_ verb: String?) -> Bool { !(verb.map(withoutDomain.contains) ?? false) }

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
