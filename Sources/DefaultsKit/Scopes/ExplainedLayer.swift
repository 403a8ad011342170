public import PropertyList

/// A domain of a search list that has a key, and what it holds.
public struct ExplainedLayer: Hashable, Sendable, CustomStringConvertible {
    /// What kind of domain it is.
    public enum Kind: Hashable, Sendable {
        /// One in a file.
        case persistent(PreferencesDomain, path: String?)
        /// One of this process alone, by its name: the arguments, the registered defaults.
        case volatile(String)
    }

    /// Which domain it is.
    public let kind: Kind
    /// What it holds.
    public let value: PropertyListValue

    /// The domain's name and its file.
    public var description: String {
        switch kind {
        case .persistent(let domain, let path): path.map { "\(domain) in \($0)" } ?? "\(domain)"
        case .volatile(let name): name
        }
    }
}
