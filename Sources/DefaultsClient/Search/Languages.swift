package import DefaultsCore
import Linux
import PropertyList

/// The user's preferred languages, in order, spelled as on Apple's systems: "de", "de-AT", "zh-Hant".
package enum Languages {
    /// The key of the user's list.
    package static let key = "AppleLanguages"
    /// The last language of every list.
    static let last = "en"
    /// The maximum number of entries to use, so that a hostile value can't exhaust memory.
    private static let maximum = 32
    /// The maximum length of an entry in UTF-8 bytes; longer entries aren't languages.
    private static let maximumLength = 64

    /// Returns the names of the languages domains, in the order of the search.
    ///
    /// "en" is last, unless it occurs earlier.
    ///
    /// - Parameters:
    ///   - value: The search list's value of `AppleLanguages`: an array of strings, or one string; `nil` for none.
    ///   - environment: The environment's languages, used if there is no value.
    /// - Returns: The names, without duplicates and names that are too long for a language.
    static func names(of value: PropertyListValue?, else environment: [String]) -> [String] {
        let entries: [String] =
            switch value {
            case .string(let entry)?: [entry]
            case .array(let values)?:
                values.compactMap { if case .string(let entry) = $0 { entry } else { nil } }
            case nil: environment
            default: []
            }
        // The names of the process's other volatile domains are reserved.
        var seen: Set<String> = ["", SearchLayer.argumentDomain, SearchLayer.registrationDomain]
        let languages = entries.lazy.filter { $0.utf8.count <= maximumLength }.prefix(maximum)
        return (languages + [last]).filter { seen.insert($0).inserted }
    }

    /// Returns the languages that an environment requests, by the rules of gettext.
    ///
    /// The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set names the locale. `LANGUAGE` is a list that replaces
    /// the locale; it ends at an entry "C" or "POSIX". If the locale is "C" or "POSIX", as when no variable is set,
    /// `LANGUAGE` is ignored.
    ///
    /// - Parameter environment: The environment variables to read.
    /// - Returns: The languages, in order; none for the locale "C".
    package static func preferred(in environment: Environment) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first
        guard let locale, language(ofLocale: locale) != nil else { return [] }
        let list = environment["LANGUAGE"]?.split(separator: ":").map(String.init) ?? []
        let names = list.isEmpty ? [locale] : list.prefix { $0 != "C" && $0 != "POSIX" }
        let languages = names.compactMap(language)
        var seen: Set<String> = []
        return languages.filter { seen.insert($0).inserted }
    }

    /// Converts a locale of the C library to a language: "sr_RS.UTF-8@latin" becomes "sr-Latn-RS".
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

/// The source of the values of languages domains, which a program may set.
final class LanguagesSource: Sendable {
    /// The source; it is not called under the lock.
    private let source = ForkSafeMutex<Callback<String, DomainValues?>?>(nil)

    /// Sets the source, unless one is already set.
    func set(_ new: @escaping @Sendable (String) -> DomainValues?) {
        source.withLock { if $0 == nil { $0 = Callback(new) } }
    }

    /// Returns the values of a language; none for an unknown one.
    func values(of language: String) -> DomainValues {
        source.withLock { $0 }?(language) ?? [:]
    }
}
