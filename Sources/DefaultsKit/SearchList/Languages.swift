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

    /// The names of the languages domains, in the order of their search; "en" is always the last new one.
    ///
    /// - Parameters:
    ///   - value: what the search list has for `AppleLanguages`: strings, or one; `nil` when it has none.
    ///   - environment: what counts when it has none.
    /// - Returns: the names, each once.
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
        return (entries.prefix(maximum) + [last]).filter { seen.insert($0).inserted }
    }

    /// The languages that an environment asks for, as gettext reads it.
    ///
    /// The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set names a locale; `LANGUAGE` is a list that comes before
    /// it, unless the locale is "C" or "POSIX".
    ///
    /// - Parameter environment: the variables.
    /// - Returns: the languages, the first one first; none for "C".
    package static func preferred(in environment: Environment) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first
        if let locale, language(ofLocale: locale) == nil { return [] }
        let list = environment["LANGUAGE"]?.split(separator: ":").map(String.init) ?? []
        let languages = (list.isEmpty ? [locale].compactMap(\.self) : list).compactMap(language)
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
