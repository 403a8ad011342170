import DefaultsCore

/// The host on which a domain's values hold.
public enum PreferencesHost: Hashable, Sendable {
    /// Every host that shares the directory.
    case any
    /// This host, by its machine-id; the same as any on a machine that has none.
    case current
    /// A host by its identifier: its machine-id as an upper-case UUID.
    case identifier(String)

    var host: DomainHost {
        get throws(DefaultsError) {
            switch self {
            case .any: .any
            case .current: Domain.thisHost ?? .any
            case .identifier(let text): try DomainHost(identifier: text)
            }
        }
    }
}
