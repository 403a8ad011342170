public import DefaultsKit

extension DefaultsKit.UserDefaults {
    /// Has every search go through the languages domains: the names, formats and separators of the user's languages.
    ///
    /// For each entry of `AppleLanguages` there is a volatile domain of its name, searched after those that all users
    /// share and before the registered defaults; "en" always comes last. What counts is the value that the search finds,
    /// so `-AppleLanguages "(de)"` among the arguments will do; where there is none, it is the environment's, as gettext
    /// reads it: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set, or `LANGUAGE` in its place; neither when that
    /// is "C", or none is set. When the value changes anywhere, in another process too, the domains follow, and who follows
    /// a key of theirs is told. An entry that ICU doesn't know as a language has none, and one's keywords and extensions,
    /// as in "de-u-ca-buddhist", don't count.
    ///
    /// It holds for all instances that share domains, as `register(defaults:)` does, from now on; a second call has no
    /// effect. A program has to ask since every search needs the values of its languages: they are made when the first one
    /// needs them, in some milliseconds a language, and they show in `dictionaryRepresentation()`. Preferences in memory
    /// have no environment. Any thread may call it.
    ///
    /// ```swift
    /// let defaults = UserDefaults.standard
    /// defaults.useLanguagesDomains()
    /// defaults.stringArray(forKey: "NSWeekDayNameArray")  // ["Sonntag", "Montag", …]
    /// ```
    public func useLanguagesDomains() {
        useLanguages { LanguageFacts($0)?.values }
    }
}
