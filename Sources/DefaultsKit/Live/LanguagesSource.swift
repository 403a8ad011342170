import DefaultsCore
import Linux
import PropertyList

/// Where the values of languages come from, once a program wants them.
final class LanguagesSource: Sendable {
    /// Held for no call.
    private let source = ForkSafeMutex<Source?>(nil)

    /// A closure on its own in a generic type would be wrapped once more, and stored so, by each access.
    private struct Source {
        let values: @Sendable (String) -> DomainValues?
    }

    /// Names the source; the first one stays.
    func set(_ new: @escaping @Sendable (String) -> DomainValues?) {
        source.withLock { if $0 == nil { $0 = Source(values: new) } }
    }

    /// The values of a language; none of one that isn't known.
    func values(of language: String) -> DomainValues {
        source.withLock { $0 }?.values(language) ?? [:]
    }
}
