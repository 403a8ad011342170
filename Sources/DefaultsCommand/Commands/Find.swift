import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults find word`.
struct Find: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Finds a word in the names of domains, in keys, and in strings at any depth.",
        discussion: """
            Upper and lower case are the same. Of a domain whose name has the word all keys are found. The status is 1 when \
            nothing is found.

            EXAMPLES
              defaults find font
              defaults -currentHost find "two words"
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "What to look for.") var word: String

    func run() throws {
        let search = TextSearch(word)
        let survey = try Survey(place)
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
