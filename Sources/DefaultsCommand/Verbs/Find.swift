import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults find word`.
struct Find: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Search domain names, keys and strings for a word.",
        discussion: """
            The search ignores case and includes keys and strings at any depth. If a domain's name matches, all its \
            keys are printed. The exit status is 1 if nothing matches.

            EXAMPLES
              defaults find font
              defaults -currentHost find "two words"
            """)

    @OptionGroup var location: LocationOptions
    @Argument(help: "The text to search for.") var word: String

    func run() throws {
        let search = TextSearch(word)
        let survey = try AllDomains(location)
        var isFound = false
        for entry in survey.domains {
            let found =
                search.matches(entry.title) || search.matches(entry.domain.name.description)
                ? entry.values : entry.values.filter { search.matches($0) || search.matches($1) }
            if found.isEmpty { continue }
            isFound = true
            let values = try PropertyListValue.dictionary(found).write(as: .oldStyle)
            let title = entry.title.printable
            try StandardOutput.show(Array("Found \(found.count) keys in domain '\(title)': ".utf8) + values)
        }
        try survey.finish()
        if !isFound { throw Failure("No domain, key, nor value containing '\(word)'", .notFound) }
    }
}
