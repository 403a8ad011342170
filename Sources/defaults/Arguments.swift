import DefaultsCore

/// The arguments as people write them, brought into the form that the parser takes.
enum Arguments {
    /// Apple's names of the global domain, which look like options or have spaces.
    private static let globalDomain: Set<String> = ["-g", "-globalDomain", "Apple Global Domain"]
    /// The options of `PlaceOptions` that may stand anywhere before the domain, and whether a value follows.
    private static let place = ["--directory": true, "--socket": true, "-host": true, "-currentHost": false]
    /// The options that a value follows, of the commands that have a domain.
    private static let valued: Set<String> = [
        "--since", "--cursor-file", "-n", "--timeout", "--mode", "--color", "--plist",
    ]

    /// The arguments that this process was given, without its name.
    ///
    /// - Throws: when one isn't UTF-8; Swift would silently have other text in its place.
    static func ofProcess() throws(Failure) -> [String] {
        var arguments: [String] = []
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let text = CommandLine.unsafeArgv[index] else { continue }
            guard let argument = String(validatingCString: text) else {
                throw Failure(
                    "\"\(String(cString: text))\" is not UTF-8, which all text of preferences is; nothing was done. "
                        + "Bytes are written with -data.", .usage)
            }
            arguments.append(argument)
        }
        return arguments
    }

    /// Names the global domain and that of an application by their names, puts the options of the place before the verb,
    /// and writes the verb in lower case.
    ///
    /// Only what comes before the domain is touched: behind it `-g` and `-host` are a key or a value like any other, and
    /// the parser takes all of it as it is, options before the domain of `write` included.
    ///
    /// - Throws: when an application is named that isn't there.
    static func prepared(_ arguments: some Sequence<String>) throws(Failure) -> [String] {
        var rest = Array(arguments)[...]
        var placeOptions: [String] = []
        var others: [String] = []
        var verb: String?
        // What is the verb's, and stands before it.
        var early: [String] = []
        // Of an application that is named before the verb.
        var domain: String?
        while let argument = rest.popFirst() {
            if let hasValue = place[argument], !hasValue || !rest.isEmpty {
                placeOptions.append(argument)
                if hasValue, let value = rest.popFirst() { placeOptions.append(value) }
            } else if argument.hasPrefix("--directory=") || argument.hasPrefix("--socket=") {
                placeOptions.append(argument)
            } else if argument == "-app", let name = rest.popFirst() {
                domain = try Application(named: name, .current).domain
                if verb != nil { break }
            } else if verb != nil, globalDomain.contains(argument) {
                others.append("NSGlobalDomain")
                break
            } else if verb == nil, argument == "--key-path" {
                early.append(argument)
            } else if argument.hasPrefix("-"), argument != "-", argument != "--" {
                others.append(argument)
                if valued.contains(argument), let value = rest.popFirst() { others.append(value) }
            } else if verb == nil, argument != "--" {
                verb = argument.lowercased()
                others.append(argument.lowercased())
                others += early
            } else {
                rest = [argument] + rest
                break
            }
        }
        if let domain { others.append(domain) }
        return placeOptions + others + rest
    }
}
