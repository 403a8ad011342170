import DefaultsCore

/// The conversion of Apple's argument syntax into the form that the parser accepts.
package enum Arguments {
    /// The options that name the global domain.
    private static let globalDomain = ["-g", "-globalDomain"]
    /// The options of `LocationOptions` that take a value; they may appear anywhere before the domain.
    private static let locationOptionNames = ["--directory", "--socket", "-host"]
    /// The options of `KeyPathOption`, which may precede the verb.
    private static let keyOptionNames = ["--key-path", "--literal-key"]

    /// Returns the arguments of this process, without its name.
    ///
    /// Arguments that aren't UTF-8, which Swift would silently repair, become `ByteArgument` placeholders.
    static func ofProcess() -> [String] {
        (1..<max(Int(CommandLine.argc), 1)).compactMap { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) ?? ByteArgument.text(for: $0, at: index) }
        }
    }

    /// Replaces `-g` and `-app` with the names of their domains, moves the location options before the verb, and
    /// lowercases the verb.
    ///
    /// Only arguments before the domain are changed. After it, `-g` and `-host` are ordinary keys or values.
    ///
    /// - Throws: If an application can't be found, or an argument that must be UTF-8 isn't.
    package static func prepared(_ arguments: some Sequence<String>) throws(Failure) -> [String] {
        var start = ArgumentsBeforeDomain(rest: Array(arguments)[...])
        while let argument = start.rest.popFirst(), try start.add(argument) {}
        let prepared = try start.all()
        try ByteArgument.check(prepared)
        return prepared
    }

    /// The arguments before the domain, sorted one at a time.
    private struct ArgumentsBeforeDomain {
        /// The arguments that haven't been processed.
        var rest: ArraySlice<String>
        private var locationOptions: [String] = []
        private var verb: String?
        /// The options of the verb that precede it.
        private var early: [String] = []
        /// The verb, and its options and operands.
        private var others: [String] = []
        /// The domain named by an option, such as `-app`.
        private var domain: String?

        init(rest: ArraySlice<String>) {
            self.rest = rest
        }

        /// Sorts an argument that was removed from `rest`, along with its value, if it has one.
        ///
        /// - Returns: False if the arguments before the domain have ended: an option named the domain, or this argument
        ///   isn't one of them and was put back into `rest`.
        mutating func add(_ argument: String) throws(Failure) -> Bool {
            if locationOptionNames.contains(argument), let value = rest.popFirst() {
                locationOptions += [argument, value]
            } else if isLocationFlag(argument) {
                locationOptions.append(argument)
            } else if argument == "-app", let name = rest.popFirst() {
                return try add(domain: Application(named: name, .current).domain)
            } else if globalDomain.contains(argument), takesDomain(verb) {
                return try add(domain: "NSGlobalDomain")
            } else if verb == nil, keyOptionNames.contains(argument) {
                early.append(argument)
            } else if argument.hasPrefix("-"), argument != "-", argument != "--" {
                others.append(argument)
                if OptionTable.hasValue(argument), let value = rest.popFirst() { others.append(value) }
            } else if verb == nil, argument != "--" {
                // An unknown verb is reported as it was typed.
                let name = argument.lowercased()
                begin(OptionTable.verb(named: name) == nil ? argument : name)
            } else if let verb, isPlural(verb), argument != "--" {
                others.append(argument)
            } else {
                rest = [argument] + rest
                return false
            }
            return true
        }

        private mutating func begin(_ verb: String) {
            self.verb = verb
            others += [verb] + early
            if isPlural(verb), let first = domain {
                others.append(first)
                domain = nil
            }
        }

        /// Adds a domain named by an option.
        ///
        /// - Returns: Whether more arguments before the domain may follow.
        private mutating func add(domain new: String) throws(Failure) -> Bool {
            if let verb, isPlural(verb) {
                others.append(new)
                return true
            }
            if let domain { throw Failure("Name one domain only: \(domain) or \(new).", .usage) }
            domain = new
            return verb == nil
        }

        /// Returns all arguments in the order that the parser expects.
        func all() throws(Failure) -> [String] {
            if let domain, let verb, !takesDomain(verb) {
                throw Failure("`\(verb)` takes no domain, but \(domain) was given before it.", .usage)
            }
            return locationOptions + others + [domain].compactMap(\.self) + rest
        }
    }

    /// Returns prepared arguments without the location options at their start.
    static func withoutLocation(_ arguments: [String]) -> ArraySlice<String> {
        var rest = arguments[...]
        while let argument = rest.first {
            if locationOptionNames.contains(argument) {
                rest = rest.dropFirst(2)
            } else if isLocationFlag(argument) {
                rest.removeFirst()
            } else {
                break
            }
        }
        return rest
    }

    /// Returns whether an argument is by itself a complete location option.
    private static func isLocationFlag(_ argument: String) -> Bool {
        argument == "-currentHost" || argument.hasPrefix("--directory=") || argument.hasPrefix("--socket=")
    }

    /// Returns whether a word is an option that belongs before the domain.
    static func isLocationOption(_ word: String) -> Bool {
        (locationOptionNames + keyOptionNames + ["-currentHost", "-app"]).contains {
            word == $0 || word.hasPrefix("\($0)=")
        }
    }

    /// Returns whether a verb takes a domain; true for an unknown verb or none.
    static func takesDomain(_ verb: String?) -> Bool {
        verb.flatMap { OptionTable.verb(named: $0) }.map { $0.domains != .none } ?? true
    }

    /// Returns whether a verb takes several domains.
    static func isPlural(_ verb: String) -> Bool { OptionTable.verb(named: verb)?.domains == .several }

    /// Returns the operands among the arguments after a verb: those that are neither options nor values of options.
    static func operands(_ arguments: some Sequence<String>) -> [String] {
        var rest = Array(arguments)[...]
        var operands: [String] = []
        while let argument = rest.popFirst() {
            if OptionTable.hasValue(argument) {
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
