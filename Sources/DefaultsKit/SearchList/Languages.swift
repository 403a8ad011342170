package import DefaultsCore
import PropertyList

/// The languages that a user prefers, the first one first, as Apple's systems name them: "de", "de-AT", "zh-Hant".
package enum Languages {
    /// The key of the user's list.
    package static let key = "AppleLanguages"
    /// The language that everyone gets last.
    static let last = "en"
    /// More than anyone speaks: a value that was made to exhaust memory is cut there.
    private static let maximum = 32
    /// The length of an entry in UTF-8 above which it is no language, and would only take memory.
    private static let maximumLength = 64

    /// The names of the languages domains, in the order of their search; "en" is always the last new one.
    ///
    /// - Parameters:
    ///   - value: what the search list has for `AppleLanguages`: strings, or one; `nil` when it has none.
    ///   - environment: what counts when it has none.
    /// - Returns: the names, each once; none that is too long for a language.
    static func names(of value: PropertyListValue?, else environment: [String]) -> [String] {
        let entries: [String] =
            switch value {
            case .string(let entry)?: [entry]
            case .array(let values)?:
                values.compactMap { if case .string(let entry) = $0 { entry } else { nil } }
            case nil: environment
            default: []
            }
        // The process's other domains keep their names.
        var seen: Set<String> = ["", SearchLayer.argumentDomain, SearchLayer.registrationDomain]
        let languages = entries.lazy.filter { $0.utf8.count <= maximumLength }.prefix(maximum)
        return (languages + [last]).filter { seen.insert($0).inserted }
    }

    /// The languages that an environment asks for, as gettext reads it.
    ///
    /// The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set names a locale; `LANGUAGE` is a list that comes before
    /// it, and ends at an entry "C" or "POSIX". Where the locale is one of these, as it is when none is set, `LANGUAGE`
    /// doesn't count.
    ///
    /// - Parameter environment: the variables.
    /// - Returns: the languages, the first one first; none for "C".
    package static func preferred(in environment: Environment) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first
        guard let locale, language(ofLocale: locale) != nil else { return [] }
        let list = environment["LANGUAGE"]?.split(separator: ":").map(String.init) ?? []
        let names = list.isEmpty ? [locale] : list.prefix { $0 != "C" && $0 != "POSIX" }
        let languages = names.compactMap(language)
        var seen: Set<String> = []
        return languages.filter { seen.insert($0).inserted }
    }

    /// A locale of the C library as a language: "sr_RS.UTF-8@latin" is "sr-Latn-RS".
    private static func language(ofLocale name: String) -> String? {
        let parts = name.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let base = (parts.first ?? "").prefix { $0 != "." }
        if base.isEmpty || base == "C" || base == "POSIX" { return nil }
        var subtags = base.split(separator: "_").map(String.init)
        let scripts = ["latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva"]
        if parts.count > 1, let script = scripts[String(parts[1])] { subtags.insert(script, at: min(1, subtags.count)) }
        return subtags.joined(separator: "-")
    }
}
