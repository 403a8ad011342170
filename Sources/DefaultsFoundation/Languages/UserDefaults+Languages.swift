public import DefaultsKit

extension DefaultsKit.UserDefaults {
    /// Has every search end in the languages domains: the names, formats and separators of the user's languages.
    ///
    /// For each entry of `AppleLanguages` there is a volatile domain of its name, searched after those that all users
    /// share and before the registered defaults; "en" always comes last. What counts is the value that the search finds,
    /// so `-AppleLanguages "(de)"` among the arguments will do; where there is none, it is the environment's: `LANGUAGE`,
    /// else the first of `LC_ALL`, `LC_MESSAGES` and `LANG`. When the value changes anywhere, in another process too, the
    /// domains follow, and who follows a key of theirs is told. An entry that ICU doesn't know as a language has none.
    ///
    /// It holds for all instances that share domains, as `register(defaults:)` does, from now on; a second call has no
    /// effect. A program has to ask since a search that ends in a language needs its values: they are made once a process,
    /// when the first search needs them, in some milliseconds a language, and they show in `dictionaryRepresentation()`.
    /// Preferences in memory have no environment. Any thread may call it.
    ///
    /// ```swift
    /// let defaults = UserDefaults.standard
    /// defaults.useLanguagesDomains()
    /// defaults.stringArray(forKey: "NSWeekDayNameArray")  // ["Sonntag", "Montag", …]
    /// ```
    public func useLanguagesDomains() {
        useLanguages { LanguageDomains.values(of: $0) }
    }
}
