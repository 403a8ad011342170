public import DefaultsKit

extension DefaultsKit.UserDefaults {
    /// Adds the languages domains to every search: the names, formats and separators of the user's languages.
    ///
    /// Each entry of `AppleLanguages` gets a volatile domain with its name. These domains are searched after the
    /// domains shared by all users and before the registered defaults; "en" always comes last. The value of
    /// `AppleLanguages` comes from the search list, so the program argument `-AppleLanguages "(de)"` works. If the
    /// search list has no value, the environment supplies it by the rules of gettext. The first of `LC_ALL`,
    /// `LC_MESSAGES` and `LANG` that is set names the language. `LANGUAGE` replaces it, unless that first variable is
    /// "C" or none is set. When the value changes, in this process or another, the domains follow, and observers of
    /// their keys are notified. An entry that ICU doesn't know as a language gets no domain. An entry's keywords and
    /// extensions, as in "de-u-ca-buddhist", are ignored.
    ///
    /// The call affects all instances that share domains, as `register(defaults:)` does. A second call has no effect.
    /// The languages domains are opt-in because every search then needs their values: they are created on first use,
    /// which takes a few milliseconds per language, and they appear in `dictionaryRepresentation()`. Preferences in
    /// memory have no environment. You can call this method on any thread.
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
