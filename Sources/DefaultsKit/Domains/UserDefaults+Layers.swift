#if !OVER_FOUNDATION
import DefaultsClient
import DefaultsCore
public import PropertyList

/// A domain in a search list that has some key, with the key's value there.
///
/// `UserDefaults.layers(holding:)` returns them.
public struct ExplainedLayer: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a domain.
    public enum Kind: Hashable, Sendable {
        /// A domain in a file, with the file's path.
        case persistent(PreferencesDomain, path: String?)
        /// A domain that exists only in this process, by its name: the arguments, the registered defaults or a
        /// language.
        case volatile(String)
    }

    /// The domain.
    public let kind: Kind
    /// The value of the key in this domain.
    public let value: PropertyListValue

    /// The domain's name, and its file if it has one.
    public var description: String {
        switch kind {
        case .persistent(let domain, let path): path.map { "\(domain) in \($0)" } ?? "\(domain)"
        case .volatile(let name): name
        }
    }
}

extension UserDefaults {
    /// Returns every domain of the search list that has a key, with its value there, the winning one first.
    ///
    /// The result is empty when no domain has the key.
    public func layers(holding key: String) -> [ExplainedLayer] {
        client.search(list)
        return client.holders(of: key, in: list).map { layer, value in
            switch layer {
            case .persistent(let domain):
                ExplainedLayer(
                    kind: .persistent(PreferencesDomain(domain, in: self), path: client.path(of: domain)), value: value)
            case .volatile(let name): ExplainedLayer(kind: .volatile(name), value: value)
            }
        }
    }

    /// Returns the value that the search finds once a key is removed from the application's or the suite's domain.
    package func valueBeneath(_ key: String) -> PropertyListValue? {
        client.search(list)
        return client.holders(of: key, in: list).first { $0.layer != .persistent(domain) }?.value
    }

    /// Returns every domain of the search list that has a typed key, with its value there, the winning one first.
    public func layers<Value>(holding key: DefaultsKey<Value>) -> [ExplainedLayer] {
        owner(of: key.domain).layers(holding: key.name)
    }
}
#endif
