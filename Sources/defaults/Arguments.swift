/// The arguments as people write them, brought into the form that the parser takes.
enum Arguments {
    /// Apple's names of the global domain that look like options.
    private static let globalDomain: Set<String> = ["-g", "-globalDomain", "Apple Global Domain"]

    /// Names the global domain by its name, so that the parser doesn't take it for options.
    ///
    /// Only where a domain can be: everything before the domain is an option or the verb.
    static func prepared(_ arguments: some Sequence<String>) -> [String] {
        var hasDomain = false
        var words = 0
        return arguments.map { argument in
            if hasDomain { return argument }
            if globalDomain.contains(argument) {
                hasDomain = true
                return "NSGlobalDomain"
            }
            if !argument.hasPrefix("-") {
                words += 1
                hasDomain = words > 3
            }
            return argument
        }
    }
}
