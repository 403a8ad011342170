/// One file of preferences: a name, for any host or for one, in the user's directory or in one of the system's.
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
        // Most are of any host and the current user, and are looked up again and again.
        if host != .any { hasher.combine(host) }
        if user != .current { hasher.combine(user) }
    }

    /// The name, with the host and the user where they aren't any and the current one.
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

    /// The current user's domains are first; then by name.
    package static func < (first: Domain, second: Domain) -> Bool {
        if first.user != second.user { return first.user < second.user }
        let order = DomainName.order(first.name, second.name)
        return order == 0 ? first.host < second.host : order < 0
    }

    /// Checks that the domain may be edited, which only the current user's may.
    ///
    /// - Throws: `readOnly`.
    package func checkWritable() throws(DefaultsError) {
        if user == .current { return }
        throw DefaultsError(
            .readOnly,
            "\(self) can only be read; set the key for the current user, or have an administrator change the file.")
    }
}
