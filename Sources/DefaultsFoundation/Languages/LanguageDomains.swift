import PropertyList
import Synchronization

/// The languages whose values this process has made.
enum LanguageDomains {
    /// Held while a language is made, so that each is made once; only ICU is called under it.
    private static let made = Mutex<[String: [String: PropertyListValue]?]>([:])

    /// The values of a language by its entry in `AppleLanguages`; `nil` when there is no such language.
    static func values(of entry: String) -> [String: PropertyListValue]? {
        made.withLock { made in
            if let values = made[entry] { return values }
            let values = LanguageFacts(entry)?.values
            made[entry] = .some(values)
            return values
        }
    }
}
