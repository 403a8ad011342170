package import PropertyList

/// A named set of preferences stored in one file, for any host or a single one, and for the current user or any user.
package struct Domain: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var name: DomainName
    package var host: DomainHost
    package var user: DomainUser

    package init(_ name: DomainName, host: DomainHost = .any, user: DomainUser = .current) {
        self.name = name
        self.host = host
        self.user = user
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        // Most domains are for any host and the current user, and are looked up often, so hash less for them.
        if host != .any { hasher.combine(host) }
        if user != .current { hasher.combine(user) }
    }

    /// Whether the domain is the current user's, for any host, as most domains are.
    var isUsual: Bool {
        if case (.any, .current) = (host, user) { true } else { false }
    }

    /// The name, followed by the host unless that is any host, and by the user unless that is the current user.
    package var description: String {
        let ofUser: String? =
            switch user {
            case .current: nil
            case .any(let directory): "any user, \(directory)"
            case .managed: "managed"
            }
        let details = [host.identifier.map { "host \($0)" }, ofUser].compactMap(\.self)
        return details.isEmpty ? name.description : "\(name) (\(details.joined(separator: ", ")))"
    }

    /// Orders domains by user (the current user first), then by name, then by host.
    package static func < (first: Domain, second: Domain) -> Bool {
        if first.user != second.user { return first.user < second.user }
        let order = DomainName.order(first.name, second.name)
        return order == 0 ? first.host < second.host : order < 0
    }

    /// Checks that the domain may be edited; only the current user's domains may.
    ///
    /// - Throws: `readOnly`.
    package func checkWritable() throws(DefaultsError) {
        if user == .current { return }
        throw DefaultsError(
            .readOnly,
            "\(self) is read-only.",
            remedy: "Set the key for the current user, or ask an administrator to change the file.")
    }
}

/// The users that a domain's values apply to: the current user, any user, or any user without exception.
package enum DomainUser: Hashable, Comparable, Sendable {
    /// The current user; the domain's file is in the preferences directory.
    case current
    /// Any user; the domain's file is in a system directory, given by its absolute path.
    ///
    /// Such a domain is read-only.
    case any(directory: String)
    /// Any user, overriding the values of all other layers; the domain's file is in the managed directory.
    ///
    /// Such a domain is read-only, and its file is used only if root alone can have written it.
    case managed
}

/// The hosts that a domain's values apply to: every host that shares the directory, or one of them.
package enum DomainHost: Hashable, Comparable, Sendable {
    case any
    /// One host, by its identifier.
    ///
    /// The current host's identifier is its machine ID as an uppercase UUID.
    case only(String)

    /// The host's identifier; `nil` for any host.
    package var identifier: String? {
        switch self {
        case .any: nil
        case .only(let identifier): identifier
        }
    }

    /// Creates a host from an identifier, after validation; `nil` means any host.
    package init(identifier: String?) throws(DefaultsError) {
        guard let identifier else {
            self = .any
            return
        }
        let allowed = identifier.utf8.allSatisfy {
            ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x41 && $0 <= 0x5A) || ($0 >= 0x61 && $0 <= 0x7A) || $0 == 0x2D
        }
        guard allowed, (1...36).contains(identifier.utf8.count) else {
            throw DefaultsError(
                .invalidDomainName,
                "A host identifier must have 1 to 36 characters, each a letter, a digit or \"-\".")
        }
        self = .only(identifier)
    }
}

/// A domain's values by key.
package typealias DomainValues = [String: PropertyListValue]
