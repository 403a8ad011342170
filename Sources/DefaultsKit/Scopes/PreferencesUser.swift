import DefaultsCore

/// Whose values a domain holds.
public enum PreferencesUser: Hashable, Sendable {
    /// The current user's.
    case current
    /// Everybody's on this system, in one of the system's directories, by its absolute path.
    case any(directory: String)
    /// Everybody's on this system, forced by its administrator.
    case managed

    init(_ user: DomainUser) {
        self =
            switch user {
            case .current: .current
            case .any(let directory): .any(directory: directory)
            case .managed: .managed
            }
    }

    var user: DomainUser {
        switch self {
        case .current: .current
        case .any(let directory): .any(directory: directory)
        case .managed: .managed
        }
    }
}
