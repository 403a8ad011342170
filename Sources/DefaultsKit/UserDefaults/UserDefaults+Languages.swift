package import PropertyList

extension UserDefaults {
    /// Has the languages domains take part in every search of all instances that share this one's domains.
    ///
    /// DefaultsKit knows no language: DefaultsFoundation asks ICU, and only when a program wants it. The first source stays.
    ///
    /// - Parameter source: makes the values of a language by the entry of `AppleLanguages`; `nil` when there is no such
    ///   language. It is called on any thread, with no lock held, when a search list comes to search an entry that no other
    ///   one searches; two threads that need an entry at the same time may both call it.
    package func useLanguages(from source: @escaping @Sendable (String) -> [String: PropertyListValue]?) {
        live.useLanguages(from: source)
    }
}
