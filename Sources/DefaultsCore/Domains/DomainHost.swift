/// Where a domain's values hold: on every host that shares the directory, or on one.
package enum DomainHost: Hashable, Comparable, Sendable {
    case any
    /// One host, by its identifier (an upper-case UUID made of the machine-id).
    case only(String)

    /// The host's identifier, `nil` for any host.
    package var identifier: String? {
        switch self {
        case .any: nil
        case .only(let identifier): identifier
        }
    }

    /// A host by its identifier, checked; `nil` means any host.
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
                "A host's identifier has 1 to 36 letters, digits and \"-\"; this one hasn't.")
        }
        self = .only(identifier)
    }
}
