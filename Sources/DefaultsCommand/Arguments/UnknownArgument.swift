import DefaultsCore

/// Checks for unknown verbs and options, with better messages than the parser's.
enum UnknownArgument {
    /// Checks prepared arguments.
    ///
    /// - Throws: A usage error for an unknown verb or option, or for an option in the wrong place.
    static func check(_ arguments: [String]) throws(Failure) {
        let words = Arguments.withoutLocation(arguments)
        if words.first == "--" || words.contains(where: isForParser) { return }
        var rest = words
        while let word = rest.first, word.hasPrefix("-") {
            guard OptionTable.has(word) else { throw unknown(word, to: nil) }
            rest = rest.dropFirst(OptionTable.hasValue(word) ? 2 : 1)
        }
        guard let verbName = rest.popFirst() else { return }
        let verb = try findVerb(verbName, topic: rest.first)
        let leading = words.prefix { $0 != verbName }
        if let misplaced = leading.first(where: { !OptionTable.isCommon($0) }) {
            guard verb.has(misplaced) else { throw unknown(misplaced, to: verb) }
            throw failure("Put \(name(of: misplaced)) after the verb.", of: verb)
        }
        while let word = rest.popFirst(), word != "--" {
            guard word.hasPrefix("-"), word != "-" else {
                // The verb itself reads the rest, even if it looks like options.
                if verb.isPassthrough { return }
                continue
            }
            guard verb.has(word) else { throw unknown(word, to: verb) }
            if (verb.options + OptionTable.common.options).contains(word) { rest = rest.dropFirst() }
        }
    }

    /// Returns whether an argument asks the parser for something other than a verb.
    ///
    /// The parser reads `-help` as `-h`.
    private static func isForParser(_ word: String) -> Bool {
        word == "-help"
            || ["---completion", "--generate-completion-script", "--experimental-dump-help"]
                .contains { word.hasPrefix($0) }
    }

    /// Returns the verb with a name; for `help`, also checks that its topic is a verb.
    private static func findVerb(_ name: String, topic: String?) throws(Failure) -> OptionTable.Verb {
        guard let verb = OptionTable.verb(named: name) else {
            // `-g` has become this.
            if name == DomainName.global.description { throw Failure("Name a verb first: `defaults read -g`.", .usage) }
            throw unknownVerb(name)
        }
        if name == "help", let topic, !topic.hasPrefix("-"), OptionTable.verb(named: topic) == nil {
            throw unknownVerb(topic)
        }
        return verb
    }

    private static func unknownVerb(_ name: String) -> Failure {
        let names = OptionTable.verbs.flatMap(\.names)
        let question = Suggestion.question(name.lowercased(), among: names)
        return Failure("Unknown verb \"\(name)\".\(question) See `defaults --help`.", .usage)
    }

    private static func unknown(_ option: String, to verb: OptionTable.Verb?) -> Failure {
        let name = name(of: option)
        let known = [OptionTable.common, verb].compactMap(\.self).flatMap { $0.flags + $0.options }
        let remedy =
            verb?.domains == OptionTable.DomainCount.none
            ? "" : " Use -- before a domain or key that starts with a dash."
        return failure("Unknown option \"\(name)\".\(Suggestion.question(name, among: known))\(remedy)", of: verb)
    }

    private static func failure(_ message: String, of verb: OptionTable.Verb?) -> Failure {
        let command = verb.map { "help \($0.names[0])" } ?? "help"
        return Failure("\(message) See `defaults \(command)`.", .usage)
    }

    /// Returns an option without its value.
    private static func name(of option: String) -> String {
        String(option.prefix { $0 != "=" })
    }
}

extension OptionTable {
    /// The number of domains that a verb takes.
    enum DomainCount {
        case none, one, several
    }

    /// A verb.
    struct Verb {
        /// The name, followed by any aliases.
        let names: [String]
        let domains: DomainCount
        /// Whether the verb itself reads everything after its first operand, so that none of it is an option.
        var isPassthrough = false
        /// The verb's own options that take no value.
        let flags: [String]
        /// Its own options that take a value: the text after "=", or the next argument.
        let options: [String]

        /// Returns whether this is an option of the verb, or of all verbs; it may be followed by "=" and a value.
        func has(_ text: String) -> Bool {
            let name = String(text.prefix { $0 != "=" })
            return flags.contains(name) || options.contains(name) || OptionTable.isCommon(name)
        }
    }

    /// Returns the verb with a name or an alias.
    static func verb(named name: String) -> Verb? { verbs.first { $0.names.contains(name) } }

    /// Returns whether an option is common to all verbs; it may be followed by "=" and a value.
    static func isCommon(_ text: String) -> Bool {
        let name = String(text.prefix { $0 != "=" })
        return common.flags.contains(name) || common.options.contains(name)
    }

    /// Returns whether any verb has the option, which may be followed by "=" and a value.
    static func has(_ text: String) -> Bool { verbs.contains { $0.has(text) } }

    /// Returns whether a verb's own option takes a value.
    static func hasValue(_ name: String) -> Bool {
        verbs.contains { $0.options.contains(name) }
    }
}
