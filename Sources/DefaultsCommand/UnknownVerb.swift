import ArgumentParser

/// Looks for a verb that there isn't, of which the parser would only say that it is unexpected.
enum UnknownVerb {
    /// Checks prepared arguments.
    static func check(_ arguments: [String]) throws(Failure) {
        let words = Arguments.withoutPlace(arguments)
        guard var verb = words.first, !verb.hasPrefix("-") else { return }
        if verb == "help" {
            guard let topic = words.dropFirst().first, !topic.hasPrefix("-") else { return }
            verb = topic
        }
        if names.contains(verb) { return }
        let near = NearName.of(verb, among: names).map { "; did you mean \"\($0)\"?" } ?? "."
        throw Failure("There is no verb \"\(verb)\"\(near) See defaults --help.", .usage)
    }

    /// The verb of prepared arguments, if there is such a one.
    static func named(in arguments: [String]) -> String? {
        Arguments.withoutPlace(arguments).first { !$0.hasPrefix("-") }.flatMap { names.contains($0) ? $0 : nil }
    }

    /// All verbs, under all their names.
    private static var names: [String] {
        Defaults.configuration.subcommands.flatMap { [$0._commandName] + $0.configuration.aliases } + ["help"]
    }
}
